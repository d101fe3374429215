import { classNames } from './class-names.ts';

/** On or off, as a switch on the wall: it moves at once. Its touch target is larger than it looks. */
export function Switch({
  label,
  on,
  busy,
  disabled,
  onToggle,
}: {
  label: string;
  on: boolean;
  busy: boolean;
  disabled: boolean;
  onToggle: (on: boolean) => void;
}) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={on}
      aria-label={label}
      aria-busy={busy || undefined}
      aria-disabled={disabled || undefined}
      onClick={() => !disabled && onToggle(!on)}
      className="grid min-h-11 min-w-16 place-items-center rounded-xl"
    >
      <span
        className={classNames(
          'block h-8 w-14 rounded-full border p-0.5 transition-colors',
          on ? 'border-accent bg-accent' : 'border-line-strong bg-sunken',
          disabled && 'opacity-60',
        )}
      >
        <span
          className={classNames(
            'block size-6.5 rounded-full transition-transform',
            on ? 'translate-x-6 bg-accent-ink' : 'bg-line-strong',
          )}
        />
      </span>
    </button>
  );
}
