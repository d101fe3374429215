import { useMutation } from '@tanstack/react-query';
import { CircleUser, Languages, LogOut, MonitorSmartphone, Palette } from 'lucide-react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useLocation } from 'wouter';
import { asProblem, type Problem } from '../api/request.ts';
import { useServices } from '../api/services.ts';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { Menu, type MenuStart } from './menu.tsx';
import { ProblemNote } from './problem.tsx';

/** Where the cards of the account page are (`account-page.tsx`). */
const parts = { sessions: 'sessions', language: 'language', appearance: 'appearance' } as const;

/** My account, my sessions, language, appearance, and the way out. */
export function AvatarMenu({
  label,
  start,
  className,
  children,
}: {
  label: string;
  start: MenuStart;
  className: string;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  const { session } = useServices();
  const [, navigate] = useLocation();
  const leave = useMutation({ mutationFn: () => session.logOut() });
  const open = (part: string): void => {
    navigate(part === '' ? '/account' : `/account#${part}`);
    // For when the page is open already.
    document.getElementById(part)?.scrollIntoView();
  };
  return (
    <>
      {leave.error && <NotLeft problem={asProblem(leave.error)} onAgain={() => leave.mutate()} onClose={leave.reset} />}
      <Menu
        label={label}
        start={start}
        className={className}
        items={[
          { label: t('account.title'), icon: CircleUser, onSelect: () => open('') },
          { label: t('sessions.title'), icon: MonitorSmartphone, onSelect: () => open(parts.sessions) },
          { label: t('account.language'), icon: Languages, onSelect: () => open(parts.language) },
          { label: t('appearance.title'), icon: Palette, onSelect: () => open(parts.appearance) },
          { label: t('sessions.end'), icon: LogOut, onSelect: () => leave.mutate() },
        ]}
      >
        {children}
      </Menu>
    </>
  );
}

/** Who believes to be logged out leaves the page open to others. */
function NotLeft({ problem, onAgain, onClose }: { problem: Problem; onAgain: () => void; onClose: () => void }) {
  const { t } = useTranslation();
  return (
    <Dialog
      title={t('sessions.notEnded')}
      onClose={onClose}
      actions={
        <>
          <Button kind="primary" onClick={onAgain}>
            {t('action.retry')}
          </Button>
          <Button onClick={onClose}>{t('action.dismiss')}</Button>
        </>
      }
    >
      <ProblemNote error={problem} />
    </Dialog>
  );
}
