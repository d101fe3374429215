import { useMutation } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { asProblem } from '../../api/problem.ts';
import { useServices, useUser } from '../../api/services.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { LanguageChoice } from '../../ui/language-choice.tsx';
import { PageHead } from '../../ui/page-head.tsx';
import { ProblemNote } from '../../ui/problem-note.tsx';
import { PasswordCard } from './password-card.tsx';

export function AccountPage() {
  const { t } = useTranslation();
  const { session } = useServices();
  const user = useUser();
  const leave = useMutation({ mutationFn: () => session.logOut() });
  return (
    <>
      <PageHead page={t('account.title')}>
        <h1 className="text-title font-strong md:text-value">{user.name}</h1>
        <p className="text-ink-soft">
          {user.email} · {t(`account.role.${user.role}`)}
        </p>
      </PageHead>
      <div className="grid max-w-xl gap-4 md:gap-6">
        <Card title={t('account.language')}>
          <LanguageChoice />
        </Card>
        <PasswordCard email={user.email} />
        <section className="flex flex-wrap items-center gap-4">
          <Button busy={leave.isPending} onClick={() => leave.mutate()}>
            <LogOut aria-hidden className="size-5" />
            {t('account.logOut')}
          </Button>
          <p className="text-small text-ink-soft">{t('account.logOutHelp')}</p>
          {leave.error && <ProblemNote problem={asProblem(leave.error)} />}
        </section>
      </div>
    </>
  );
}
