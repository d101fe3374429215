import { classNames } from './class-names.ts';
import { useId, useLayoutEffect, useRef, type ReactNode } from 'react';

/**
 * The browser's own modal dialog: it holds the focus, Escape cancels it, and the focus returns to where it was. It stays open for as long
 * as it is shown.
 */
export function Dialog({
  title,
  children,
  actions,
  isSheet = false,
  onClose,
}: {
  title: string;
  children: ReactNode;
  actions: ReactNode;
  /** At the lower edge of a phone, within reach of the thumb. */
  isSheet?: boolean;
  onClose: () => void;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect: it is undone while the dialog is still on the page, and only then does closing it give the focus back.
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={ref}
      aria-labelledby={`${id}-title`}
      aria-describedby={`${id}-text`}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      // A browser closes it at a second Escape without asking.
      onClose={({ currentTarget: dialog }) => {
        if (dialog.open) return;
        onClose();
        dialog.showModal();
      }}
      className={classNames(
        'm-auto w-[min(30rem,calc(100vw-2rem))] rounded-2xl border border-line bg-surface p-6 text-ink shadow-lift',
        isSheet && 'max-sm:mb-4',
      )}
    >
      <h2 id={`${id}-title`} className="mb-3 text-title font-strong">
        {title}
      </h2>
      <div id={`${id}-text`} className="space-y-3">
        {children}
      </div>
      <div className="mt-6 flex flex-col gap-3 sm:flex-row-reverse sm:justify-start">{actions}</div>
    </dialog>
  );
}
