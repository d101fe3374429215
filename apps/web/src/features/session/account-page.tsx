import { useMutation } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { PasswordChange } from '@station/protocol/rest';
import { useServices, useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Field, LanguageChoice, RadioTiles } from '../../ui/fields.tsx';
import { useForm } from '../../ui/form.ts';
import { FormEnd } from '../../ui/form-parts.tsx';
import { PageHead } from '../../ui/page.tsx';
import { ProblemNote } from '../../ui/problem.tsx';
import { chooseTheme, readTheme, themes } from '../../ui/theme.ts';
import { PasskeysCard } from './passkeys-card.tsx';
import { SessionsCard } from './sessions-card.tsx';

export function AccountPage() {
  const { t } = useTranslation();
  const { session } = useServices();
  const user = useUser();
  const leave = useMutation({ mutationFn: () => session.logOut() });
  // From the menu at the top (`avatar-menu.tsx`).
  useEffect(() => document.getElementById(location.hash.slice(1))?.scrollIntoView(), []);
  return (
    <>
      <PageHead page={t('account.title')}>
        <h1 className="text-title font-strong md:text-value">{user.name}</h1>
        <p className="text-ink-soft">
          {user.email} · {t(`account.role.${user.role}`)}
        </p>
      </PageHead>
      <div className="grid max-w-xl gap-4 md:gap-6">
        <Card id="language" title={t('account.language')}>
          <LanguageChoice />
          <p className="mt-2 text-small text-ink-soft">{t('appearance.help')}</p>
        </Card>
        <ThemeCard />
        <PasswordCard email={user.email} />
        <PasskeysCard email={user.email} />
        <SessionsCard />
        <section className="flex flex-wrap items-center gap-4">
          <Button busy={leave.isPending} onClick={() => leave.mutate()}>
            <LogOut aria-hidden className="size-5" />
            {t('sessions.end')}
          </Button>
          <p className="text-small text-ink-soft">{t('sessions.endHere')}</p>
          <ProblemNote error={leave.error} />
        </section>
      </div>
    </>
  );
}

function ThemeCard() {
  const { t } = useTranslation();
  const { memory } = useServices();
  const [theme, setTheme] = useState(readTheme(memory));
  return (
    <Card id="appearance" title={t('appearance.title')}>
      <RadioTiles
        legend={t('appearance.title')}
        options={themes.map((value) => ({ value, label: t(`appearance.${value}`) }))}
        chosen={theme}
        onChoose={(next) => {
          chooseTheme(memory, next);
          setTheme(next);
        }}
      />
      <p className="mt-2 text-small text-ink-soft">{t('appearance.help')}</p>
    </Card>
  );
}

/** A password of one's own choice, for instance instead of the first one that the station made. */
export function PasswordCard({ email }: { email: string }) {
  const { t } = useTranslation();
  const { session } = useServices();
  const form = useForm({
    body: PasswordChange,
    fields: ['currentPassword', 'newPassword'],
    send: (body) => session.call('POST /api/auth/password', { body }),
    onDone: () => form.props.ref.current?.reset(),
    wrong: {
      invalid_credentials: { field: 'currentPassword', words: t('password.wrong') },
      conflict: { field: 'newPassword', words: t('password.same') },
    },
  });
  return (
    <Card title={t('password.title')}>
      <form {...form.props} className="space-y-4">
        {/* Password managers tie the new password to this. */}
        <input type="email" name="username" autoComplete="username" value={email} readOnly hidden />
        <Field
          label={t('password.current')}
          {...form.field('currentPassword')}
          type="password"
          autoComplete="current-password"
        />
        <Field
          label={t('password.next')}
          help={t('session.passwordHelp')}
          {...form.field('newPassword')}
          type="password"
          autoComplete="new-password"
        />
        <FormEnd form={form} submit={t('password.submit')} done={t('password.changed')} />
      </form>
    </Card>
  );
}
