import { useMutation } from '@tanstack/react-query';
import { LogOut } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { asProblem } from '../../api/request.ts';
import { useServices } from '../../api/services.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { problemWords } from '../../i18n/words.ts';
import type { FindEntry } from '../../ui/find-entry.ts';

/** What the search finds of the person's own session. */
export function useSessionEntries(): FindEntry[] {
  const { t } = useTranslation();
  const locale = useLocale();
  const { session } = useServices();
  const leave = useMutation({ mutationFn: () => session.logOut() });
  return [
    {
      id: 'log-out',
      group: 'action',
      title: t('sessions.end'),
      words: t('find.logOutWords'),
      detail: leave.error ? problemWords(t, locale, asProblem(leave.error)) : undefined,
      icon: LogOut,
      staysOpen: true,
      run: () => !leave.isPending && leave.mutate(),
    },
  ];
}
