import { classNames } from './class-names.ts';

/** Narrows a list below it. The label is its placeholder, too. */
export function SearchField(props: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  className?: string;
}) {
  return (
    <input
      type="search"
      aria-label={props.label}
      placeholder={props.label}
      autoComplete="off"
      maxLength={100}
      value={props.value}
      onChange={({ target }) => props.onChange(target.value)}
      className={classNames(
        'block min-h-11 w-full rounded-xl border border-line-strong bg-surface px-3 py-2 placeholder:text-ink-soft',
        props.className,
      )}
    />
  );
}
