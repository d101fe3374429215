import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useId } from 'react';
import { useTranslation } from 'react-i18next';
import type { NewPasskey } from '@station/protocol/passkeys';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/fields.tsx';
import { textOf, useFormFaults } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { deviceNameOf } from '../../i18n/browser-name.ts';
import { createPasskey } from './passkey-device.ts';

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
  const form = useId();
  const faults = useFormFaults();
  const add = useAddPasskey(async () => {
    await onAdded();
    onClose();
  });
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget);
    const values = { name: textOf(data, 'name'), currentPassword: textOf(data, 'currentPassword') };
    const isGood = faults.check(event.currentTarget, values, { name: 'filled', currentPassword: 'filled' });
    if (isGood && !add.isPending) add.mutate(values);
  };
  const problem = add.error ? asProblem(add.error) : null;
  const isWrong = problem?.code === 'invalid_credentials';
  return (
    <Dialog
      title={t('passkeys.add')}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" type="submit" form={form} busy={add.isPending} onClick={() => undefined}>
            {t('passkeys.continue')}
          </Button>
          <Button onClick={onClose}>{t('action.cancel')}</Button>
        </>
      }
    >
      <form id={form} noValidate onSubmit={submit} className="space-y-4">
        {/* Password managers tie the password to this. */}
        <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
        <Field
          label={t('passkeys.name')}
          help={t('passkeys.nameHelp')}
          name="name"
          maxLength={60}
          defaultValue={useDeviceName()}
          fault={faults.messageOf('name')}
        />
        <Field
          label={t('password.current')}
          name="currentPassword"
          type="password"
          autoComplete="current-password"
          fault={faults.messageOf('currentPassword') ?? (isWrong ? t('password.wrong') : null)}
        />
      </form>
      {problem && !isWrong && <ProblemNote problem={problem} />}
      {add.data && add.data !== 'done' && <p role="alert">{t(`passkeys.${add.data}`)}</p>}
    </Dialog>
  );
}

/** What the session list would call this browser. */
function useDeviceName(): string {
  const { t } = useTranslation();
  const { browser, system } = deviceNameOf(navigator.userAgent);
  return browser !== null && system !== null ? t('sessions.device', { browser, system }) : (browser ?? system ?? '');
}

function useAddPasskey(onAdded: () => Promise<void>) {
  const { session } = useServices();
  return useMutation({
    mutationFn: async ({ name, currentPassword }: { name: string; currentPassword: string }) => {
      const options = await session.call('POST /api/auth/passkeys/options', {
        body: { currentPassword },
      });
      const made = await createPasskey(options);
      if (made.kind !== 'done') return made.kind;
      const body: NewPasskey = { name, credential: made.credential };
      await session.call('POST /api/auth/passkeys', { body });
      await onAdded();
      return made.kind;
    },
  });
}
