import { Eye, EyeOff } from 'lucide-react';
import { type InputHTMLAttributes, type ReactNode, type SelectHTMLAttributes, useId, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { languageNames, languages } from '@station/protocol/languages';
import { useServices } from '../api/services.ts';
import { speak } from '../i18n/i18n.ts';
import { classNames } from './class-names.ts';

type FieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'id'> & {
  label: string;
  help?: string | undefined;
  fault: string | null;
  /** Spaces around the text belong to it, as in a password. */
  verbatim?: boolean;
  /** No words: nothing is corrected, nothing begins with a capital letter. */
  isCode?: boolean;
};

/** A labelled input with its help and its fault tied to it for screen readers. */
export function Field({
  label,
  help,
  fault,
  type = 'text',
  verbatim = type === 'password',
  isCode = false,
  className,
  ...rest
}: FieldProps) {
  const { t } = useTranslation();
  const id = useId();
  const [shown, setShown] = useState(false);
  const secret = type === 'password';
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1 block font-strong">
        {label}
      </label>
      <div className="relative">
        <input
          autoComplete="off"
          {...(isCode && { autoCapitalize: 'none', spellCheck: false })}
          {...rest}
          id={id}
          type={secret && shown ? 'text' : type}
          data-verbatim={verbatim || undefined}
          aria-invalid={fault !== null || undefined}
          aria-describedby={describedBy(id, fault, help)}
          className={classNames(
            'block min-h-12 w-full rounded-xl border bg-surface px-3 py-2 text-ink',
            secret && 'pr-14',
            fault ? 'border-fault' : 'border-line-strong',
          )}
        />
        {secret && (
          <button
            type="button"
            aria-label={t(shown ? 'session.hide' : 'session.show')}
            onClick={() => setShown(!shown)}
            className="absolute inset-y-0 right-0 grid w-12 place-items-center rounded-xl text-ink-soft hover:text-ink"
          >
            {shown ? <EyeOff aria-hidden className="size-5" /> : <Eye aria-hidden className="size-5" />}
          </button>
        )}
      </div>
      <Notes id={id} fault={fault} help={help} />
    </div>
  );
}

const describedBy = (id: string, fault: string | null, help: string | undefined): string | undefined =>
  [help ? `${id}-help` : '', fault ? `${id}-fault` : ''].filter(Boolean).join(' ') || undefined;

/** What is wrong with a field, and its help. */
function Notes({ id, fault, help }: { id: string; fault: string | null; help: string | undefined }) {
  return (
    <>
      {fault && (
        <p id={`${id}-fault`} className="mt-1 text-small text-fault">
          {fault}
        </p>
      )}
      {help && (
        <p id={`${id}-help`} className="mt-1 text-small text-ink-soft">
          {help}
        </p>
      )}
    </>
  );
}

/** The browser's own list to choose from, with its label. `bare`: the label is for screen readers only, inside a sentence. */
export function Select({
  label,
  bare = false,
  help,
  fault = null,
  className,
  children,
  ...rest
}: Omit<SelectHTMLAttributes<HTMLSelectElement>, 'id'> & {
  label: string;
  bare?: boolean;
  help?: string | undefined;
  fault?: string | null;
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
        aria-invalid={fault !== null || undefined}
        aria-describedby={describedBy(id, fault, help)}
        className={classNames(
          'block w-full rounded-xl border bg-surface px-3 py-2 text-ink',
          bare ? 'min-h-11' : 'min-h-12',
          fault ? 'border-fault' : 'border-line-strong',
        )}
      >
        {children}
      </select>
      <Notes id={id} fault={fault} help={help} />
    </div>
  );
}

/** One of a few, each with a sentence; the browser's own radio buttons, so arrows and screen readers work as everywhere. */
export function Choice<Value extends string>({
  legend,
  name,
  options,
  value,
  disabled = false,
  onChange,
}: {
  legend: string;
  name: string;
  options: readonly { value: Value; label: string; help?: ReactNode }[];
  value: Value;
  disabled?: boolean;
  onChange: (value: Value) => void;
}) {
  return (
    <fieldset disabled={disabled}>
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

/** Moves at once, before the device confirms. Its touch target is larger than it looks. */
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

/** One of a few, in two columns or, `isInline`, as wide as its words. */
export function RadioTiles<Value extends string>({
  legend,
  options,
  chosen,
  isInline = false,
  onChoose,
}: {
  legend: string;
  /** `lang`: the language of the label, when it is not that of the page. */
  options: readonly { value: Value; label: string; lang?: string }[];
  chosen: Value;
  isInline?: boolean;
  onChoose: (value: Value) => void;
}) {
  const name = useId();
  return (
    <fieldset className={isInline ? 'mb-4 flex flex-wrap gap-2' : 'grid grid-cols-2 gap-2'}>
      <legend className="sr-only">{legend}</legend>
      {options.map(({ value, label, lang }) => (
        <label
          key={value}
          lang={lang}
          className={classNames(
            'flex min-h-11 min-w-11 cursor-pointer items-center justify-center rounded-xl border py-2 has-focus-visible:outline-3 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
            isInline ? 'px-3' : 'px-4',
            chosen === value
              ? 'border-accent bg-accent-soft font-strong text-accent'
              : 'border-line-strong hover:bg-sunken',
          )}
        >
          <input
            type="radio"
            name={name}
            className="sr-only"
            checked={chosen === value}
            onChange={() => onChoose(value)}
          />
          {label}
        </label>
      ))}
    </fieldset>
  );
}

export function LanguageChoice() {
  const { t, i18n } = useTranslation();
  const { memory } = useServices();
  return (
    <RadioTiles
      legend={t('account.language')}
      options={languages.map((language) => ({ value: language, label: languageNames[language], lang: language }))}
      chosen={languages.find((language) => language === i18n.language) ?? 'en'}
      onChoose={(language) => void speak(memory, language)}
    />
  );
}
