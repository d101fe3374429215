import { useTranslation } from 'react-i18next';
import type { Problem } from '../../api/request.ts';
import { orElse } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { suggestPassphrase } from './passphrase.ts';

/** How far something is; without a total it only says what is being done. */
export function Bar({ label, done, total }: { label: string; done: number; total: number }) {
  const percent = total > 0 ? Math.min(100, (100 * done) / total) : 0;
  return (
    <div>
      <p aria-live="polite" className="mb-2">
        {label}
      </p>
      <div
        role="progressbar"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        {...(total > 0 && { 'aria-valuenow': Math.round(percent) })}
        className="h-2 overflow-hidden rounded-full bg-sunken"
      >
        <div className="h-full rounded-full bg-working" style={{ width: `${percent}%` }} />
      </div>
    </div>
  );
}

/** A refusal about a backup has words of its own. */
export function BackupProblem({ problem }: { problem: Problem }) {
  const { t } = useTranslation();
  if (problem.code !== 'backup_refused' || problem.reason === null) return <ProblemNote problem={problem} />;
  return (
    <div role="alert" className="flex gap-3 rounded-xl bg-fault-soft p-3">
      <ToneIcon tone="fault" className="mt-0.5" />
      <p>{orElse(t, `backup.refusal.${problem.reason}`, problem.message)}</p>
    </div>
  );
}

export type NewPassphrase = { first: string; again: string };

/** A new passphrase, typed twice; the suggested one is shown in both fields, so that it can be copied. */
export function PassphraseFields({
  value,
  fault,
  onChange,
}: {
  value: NewPassphrase;
  fault: 'short' | 'different' | null;
  onChange: (value: NewPassphrase) => void;
}) {
  const { t } = useTranslation();
  const suggest = (): void => {
    const suggested = suggestPassphrase((bytes) => crypto.getRandomValues(bytes));
    onChange({ first: suggested, again: suggested });
  };
  return (
    <div className="space-y-4">
      <Field
        label={t('backup.passphrase.label')}
        help={t('backup.passphrase.keep')}
        name="passphrase"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={256}
        value={value.first}
        onChange={(event) => onChange({ ...value, first: event.target.value })}
        fault={fault === 'short' ? t('backup.passphrase.short') : null}
      />
      <Button onClick={suggest}>{t('backup.passphrase.generate')}</Button>
      <Field
        label={t('backup.passphrase.again')}
        name="again"
        autoComplete="off"
        autoCapitalize="none"
        spellCheck={false}
        maxLength={256}
        value={value.again}
        onChange={(event) => onChange({ ...value, again: event.target.value })}
        fault={fault === 'different' ? t('backup.passphrase.different') : null}
      />
    </div>
  );
}
