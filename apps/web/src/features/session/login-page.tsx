import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { LoginRequest } from '@station/protocol/rest';
import { useServices } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Field } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { ProblemNote } from '../../ui/problem.tsx';
import { Entrance } from './entrance.tsx';
import { passkeyPlace } from './passkey-place.ts';

const PasskeyLogin = lazy(async () => ({ default: (await import('./passkey-login.tsx')).PasskeyLogin }));

export function LoginPage({ because }: { because: 'never_in' | 'expired' | 'left' }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const name = useQuery({ queryKey: ['station-name'], queryFn: session.stationName });
  const form = useForm({ body: LoginRequest, fields: ['email', 'password'], send: session.logIn });
  return (
    <Entrance
      title={t('session.login.title')}
      lead={name.isPending ? '\u00a0' : t('session.login.lead', { name: name.data ?? location.host })}
    >
      <form {...form.props} className="space-y-4">
        {because === 'expired' && !form.problem && <p role="status">{t('session.login.expired')}</p>}
        {because === 'left' && !form.problem && <p role="status">{t('session.login.left')}</p>}
        <ProblemNote error={form.problem} />
        <Field
          label={t('session.email')}
          {...form.field('email')}
          type="email"
          autoComplete="username webauthn"
          autoCapitalize="none"
        />
        <Field
          label={t('session.password')}
          {...form.field('password')}
          type="password"
          autoComplete="current-password"
        />
        <Button kind="primary" type="submit" busy={form.isBusy} className="w-full">
          {form.isBusy ? t('session.busy') : t('session.login.submit')}
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
