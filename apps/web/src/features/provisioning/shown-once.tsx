import { type ReactNode, useEffect, useId, useRef } from 'react';

/** What a person enters elsewhere, and what is a secret: it has the focus, because the button that asked for it is gone, or far below. */
export function ShownOnce({
  heading: Heading,
  title,
  help,
  children,
}: {
  heading: 'h2' | 'h3';
  title: ReactNode;
  help: string;
  children: ReactNode;
}) {
  const id = useId();
  const shown = useRef<HTMLElement>(null);
  useEffect(() => shown.current?.focus(), []);
  return (
    <section
      ref={shown}
      tabIndex={-1}
      aria-labelledby={id}
      className="rounded-2xl border border-line bg-surface p-4 shadow-lift md:p-6"
    >
      <Heading id={id} className="flex items-center gap-2 font-strong break-words">
        {title}
      </Heading>
      <p className="mt-1 mb-4 text-small text-ink-soft">{help}</p>
      {children}
    </section>
  );
}
