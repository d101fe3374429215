import { useId, type ReactNode, type SelectHTMLAttributes } from 'react';
import { classNames } from './class-names.ts';

/** The browser's own list to choose from, with its label. `bare`: the label is for screen readers only, inside a sentence. */
export function Select({
  label,
  bare = false,
  help,
  className,
  children,
  ...rest
}: Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id'> & {
  label: string;
  bare?: boolean;
  help?: string | undefined;
  children: ReactNode;
}) {
  const id = useId();
  return (
    <div className={className}>
      <label htmlFor={id} className={bare ? 'sr-only' : 'mb-1 block font-strong'}>
        {label}
      </label>
      <select
        {...rest}
        id={id}
        aria-describedby={help === undefined ? undefined : `${id}-help`}
        className={classNames(
          'block w-full rounded-xl border border-line-strong bg-surface px-3 py-2 text-ink',
          bare ? 'min-h-11' : 'min-h-12',
        )}
      >
        {children}
      </select>
      {help !== undefined && (
        <p id={`${id}-help`} className="mt-1 text-small text-ink-soft">
          {help}
        </p>
      )}
    </div>
  );
}
