import { useTranslation } from 'react-i18next';
import { BackupSettingsPut } from '@station/protocol/backup-api';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import type { Form, Texts } from '../../ui/form.ts';
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

/** What `useForm` needs for `PassphraseFields`, beside `usePassphraseChecks`. */
export const passphraseForm = {
  body: { properties: { passphrase: BackupSettingsPut.properties.passphrase, again: {} } },
  fields: ['passphrase', 'again'],
} as const;

type PassphraseForm = Pick<Form<'passphrase' | 'again', unknown>, 'field' | 'fill'>;

export function usePassphraseChecks() {
  const { t } = useTranslation();
  return {
    again: (again: string, { passphrase }: Texts<'passphrase'>): string | null =>
      again === passphrase ? null : t('backup.passphrase.different'),
  };
}

/** A new passphrase, typed twice; the suggested one is shown in both fields, so that it can be copied. */
export function PassphraseFields({ form }: { form: PassphraseForm }) {
  const { t } = useTranslation();
  const suggest = (): void => {
    const suggested = suggestPassphrase((bytes) => crypto.getRandomValues(bytes));
    form.fill({ passphrase: suggested, again: suggested });
  };
  const attributes = { verbatim: true, autoComplete: 'off', autoCapitalize: 'none', spellCheck: false } as const;
  return (
    <div className="space-y-4">
      <Field
        label={t('backup.passphrase.label')}
        help={t('backup.passphrase.keep')}
        {...form.field('passphrase')}
        {...attributes}
      />
      <Button onClick={suggest}>{t('backup.passphrase.generate')}</Button>
      <Field label={t('backup.passphrase.again')} {...form.field('again')} {...attributes} />
    </div>
  );
}
