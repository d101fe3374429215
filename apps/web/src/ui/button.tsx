import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { classNames } from './class-names.ts';

/** `danger`: what cannot be undone. */
export type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger';

const looks: Record<ButtonKind, string> = {
  primary: 'bg-accent text-accent-ink hover:bg-accent-strong border-transparent',
  plain: 'bg-surface text-ink border-line-strong hover:bg-sunken',
  danger: 'bg-surface text-fault border-fault hover:bg-fault-soft',
  quiet: 'text-left text-accent border-transparent hover:bg-accent-soft',
};

const shape =
  'inline-flex min-h-11 items-center justify-center gap-2 rounded-xl border px-4 py-2 font-strong transition-colors';

/** For links that look like a button. */
export const buttonLook = (kind: ButtonKind): string => classNames(shape, looks[kind]);

/** `busy` shows progress in place; `disabled` greys the button. A busy button keeps the focus. */
export function Button({
  kind = 'plain',
  busy = false,
  disabled = false,
  children,
  className,
  onClick,
  type = 'button',
  ...rest
}: ButtonHTMLAttributes<HTMLButtonElement> & { kind?: ButtonKind; busy?: boolean; children: ReactNode }) {
  const off = busy || disabled;
  return (
    <button
      {...rest}
      type={type}
      // Not `disabled`: that would throw the focus back to the top of the page in the middle of a tap.
      aria-disabled={off || undefined}
      aria-busy={busy || undefined}
      onClick={off ? (event) => event.preventDefault() : onClick}
      className={classNames(shape, off ? (kind === 'quiet' ? quietOffLook : offLook) : looks[kind], className)}
    >
      {children}
    </button>
  );
}

const quietOffLook = 'text-left cursor-default border-transparent text-ink-soft';
const offLook = 'cursor-default border-transparent bg-sunken text-ink-soft';
