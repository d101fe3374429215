import { Eye, EyeOff } from 'lucide-react';
import { useId, useState, type InputHTMLAttributes } from 'react';
import { useTranslation } from 'react-i18next';
import { classNames } from './class-names.ts';

type FieldProps = Omit<InputHTMLAttributes<HTMLInputElement>, 'id'> & {
  label: string;
  help?: string;
  fault: string | null;
};

/** A labelled input with its help and its fault tied to it for screen readers. */
export function Field({ label, help, fault, type = 'text', className, ...rest }: FieldProps) {
  const { t } = useTranslation();
  const id = useId();
  const [shown, setShown] = useState(false);
  const secret = type === 'password';
  const described = [help ? `${id}-help` : '', fault ? `${id}-fault` : ''].filter(Boolean).join(' ');
  return (
    <div className={className}>
      <label htmlFor={id} className="mb-1 block font-strong">
        {label}
      </label>
      <div className="relative">
        <input
          {...rest}
          id={id}
          type={secret && shown ? 'text' : type}
          aria-invalid={fault !== null || undefined}
          aria-describedby={described || undefined}
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
    </div>
  );
}
