import { useMutation, useQuery } from '@tanstack/react-query';
import { type FormEvent, lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { textOf, useFormFaults } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { Entrance } from './entrance.tsx';
import { passkeyPlace } from './passkey-place.ts';

const PasskeyLogin = lazy(async () => ({ default: (await import('./passkey-login.tsx')).PasskeyLogin }));

export function LoginPage({ because }: { because: 'never_in' | 'expired' | 'left' }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const faults = useFormFaults();
  const name = useQuery({ queryKey: ['station-name'], queryFn: session.stationName });
  const login = useMutation({ mutationFn: session.logIn });
  const submit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const request = { email: textOf(form, 'email').trim(), password: textOf(form, 'password') };
    if (faults.check(event.currentTarget, request, { email: 'email', password: 'filled' })) login.mutate(request);
  };
  return (
    <Entrance
      title={t('session.login.title')}
      lead={name.isPending ? '\u00a0' : t('session.login.lead', { name: name.data ?? location.host })}
    >
      <form noValidate onSubmit={submit} className="space-y-4">
        {because === 'expired' && !login.error && <p role="status">{t('session.login.expired')}</p>}
        {because === 'left' && !login.error && <p role="status">{t('session.login.left')}</p>}
        {login.error && <ProblemNote problem={asProblem(login.error)} />}
        <Field
          label={t('session.email')}
          name="email"
          type="email"
          autoComplete="username webauthn"
          autoCapitalize="none"
          fault={faults.messageOf('email')}
        />
        <Field
          label={t('session.password')}
          name="password"
          type="password"
          autoComplete="current-password"
          fault={faults.messageOf('password')}
        />
        <Button kind="primary" type="submit" busy={login.isPending} className="w-full">
          {login.isPending ? t('session.busy') : t('session.login.submit')}
        </Button>
      </form>
      {passkeyPlace(location, window) === 'possible' && (
        <Suspense>
          <PasskeyLogin />
        </Suspense>
      )}
      <p className="mt-4 text-small text-ink-soft">{t('session.login.forgot')}</p>
    </Entrance>
  );
}
