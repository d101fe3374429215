import type { ReactNode } from 'react';
import { classNames } from './class-names.ts';

/** One of a few, each with a sentence; the browser's own radio buttons, so arrows and screen readers work as everywhere. */
export function Choice<Value extends string>({
  legend,
  name,
  options,
  value,
  onChange,
}: {
  legend: string;
  name: string;
  options: readonly { value: Value; label: string; help?: ReactNode }[];
  value: Value;
  onChange: (value: Value) => void;
}) {
  return (
    <fieldset>
      <legend className="mb-1 font-strong">{legend}</legend>
      <div className="space-y-2">
        {options.map((option) => (
          <label
            key={option.value}
            className={classNames(
              'flex min-h-11 cursor-pointer gap-3 rounded-xl border p-3 has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
              option.value === value ? 'border-accent bg-accent-soft' : 'border-line-strong hover:bg-sunken',
            )}
          >
            <input
              type="radio"
              name={name}
              className="mt-0.5 size-5 shrink-0 accent-(--accent)"
              checked={option.value === value}
              onChange={() => onChange(option.value)}
            />
            <span className="min-w-0">
              <span className="block font-strong">{option.label}</span>
              {option.help && <span className="block text-small text-ink-soft">{option.help}</span>}
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}
