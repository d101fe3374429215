import { useMutation } from '@tanstack/react-query';
import { X } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { asProblem } from '../api/request.ts';
import type { Toast } from '../api/services.ts';
import { useLocale } from '../i18n/i18n.ts';
import { problemWords } from '../i18n/words.ts';
import { Button } from '../ui/button.tsx';

/** Long enough to read it and to reach its button; while somebody is at it, its time stands still. */
const shownMs = 10_000;

/** What was done, and the way back. It lies over the page, so that nothing moves. */
export function ToastNote({ toast: { words, undo }, onClose }: { toast: Toast; onClose: () => void }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const [isHeld, setHeld] = useState(false);
  const close = (): void => {
    // The button that had the focus goes with the note.
    if (isHeld) document.getElementById('content')?.focus({ preventScroll: true });
    onClose();
  };
  const act = useMutation({ mutationFn: undo, onSuccess: close });
  const isWaiting = !isHeld && !act.isPending;
  useEffect(() => {
    if (!isWaiting) return undefined;
    const timer = setTimeout(onClose, shownMs);
    return () => clearTimeout(timer);
  }, [isWaiting, onClose]);
  return (
    <div
      onMouseEnter={() => setHeld(true)}
      onMouseLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
      className="note-place flex items-center gap-2"
    >
      <p className="min-w-0 flex-1 break-words">{act.error ? problemWords(t, locale, asProblem(act.error)) : words}</p>
      <Button kind="quiet" busy={act.isPending} onClick={() => act.mutate()}>
        {t('action.undo')}
      </Button>
      <button
        type="button"
        aria-label={t('action.dismiss')}
        onClick={close}
        className="-mr-2 grid size-11 shrink-0 place-items-center rounded-xl text-ink-soft hover:text-ink"
      >
        <X aria-hidden className="size-5" />
      </button>
    </div>
  );
}
