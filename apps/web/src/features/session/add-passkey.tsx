import { useTranslation } from 'react-i18next';
import { NewPasskey } from '@station/protocol/passkeys';
import { PasswordChange } from '@station/protocol/rest';
import { useServices } from '../../api/services.ts';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormDialog } from '../../ui/form-parts.tsx';
import { deviceNameOf } from '../../i18n/browser-name.ts';
import { createPasskey } from './passkey-device.ts';

/** Of two requests. */
const body = {
  properties: {
    name: NewPasskey.properties.name,
    currentPassword: PasswordChange.properties.currentPassword,
  },
};

/** Asks for a name and the password, then lets the device make the passkey. */
export function AddPasskey({
  email,
  onAdded,
  onClose,
}: {
  email: string;
  onAdded: () => Promise<void>;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const { session } = useServices();
  const form = useForm({
    body,
    fields: ['name', 'currentPassword'],
    send: async ({ name, currentPassword }) => {
      const options = await session.call('POST /api/auth/passkeys/options', { body: { currentPassword } });
      const made = await createPasskey(options);
      if (made.kind !== 'done') return made.kind;
      await session.call('POST /api/auth/passkeys', { body: { name, credential: made.credential } });
      await onAdded();
      onClose();
      return made.kind;
    },
    wrong: { invalid_credentials: { field: 'currentPassword', words: t('password.wrong') } },
  });
  return (
    <FormDialog form={form} title={t('passkeys.add')} submit={t('passkeys.continue')} onClose={onClose}>
      {/* Password managers tie the password to this. */}
      <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
      <Field
        label={t('passkeys.name')}
        help={t('passkeys.nameHelp')}
        {...form.field('name')}
        defaultValue={useDeviceName()}
      />
      <Field
        label={t('password.current')}
        {...form.field('currentPassword')}
        type="password"
        autoComplete="current-password"
      />
      {form.answer && form.answer !== 'done' && <p role="alert">{t(`passkeys.${form.answer}`)}</p>}
    </FormDialog>
  );
}

/** What the session list would call this browser. */
function useDeviceName(): string {
  const { t } = useTranslation();
  const { browser, system } = deviceNameOf(navigator.userAgent);
  return browser !== null && system !== null ? t('sessions.device', { browser, system }) : (browser ?? system ?? '');
}
