import { RefreshCw } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { isManager } from '@station/protocol/roles';
import { useUser } from '../../api/services.ts';
import { useStatus } from '../../api/station.ts';
import type { FindEntry } from '../../ui/find-entry.ts';
import { problemWords } from '../../i18n/words.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { useCheck } from './release-commands.ts';

/** What the search finds of the station itself. */
export function useStationEntries(): FindEntry[] {
  const { t } = useTranslation();
  const locale = useLocale();
  const mayManage = isManager(useUser().role);
  const view = useStatus();
  const check = useCheck();
  if (!mayManage || view.kind !== 'shown' || view.freshness.kind === 'stale') return [];
  const { latestVersion } = view.value;
  const found = check.data?.release;
  const detail = check.isPending
    ? t('station.release.checking')
    : check.error
      ? problemWords(t, locale, check.error)
      : found &&
        (found.ok
          ? found.updateAvailable
            ? t('station.release.available', { version: latestVersion ?? '' })
            : t('station.release.checked.none')
          : t('station.release.checked.failed'));
  return [
    {
      id: 'check',
      group: 'action',
      title: t('find.check'),
      words: t('find.checkWords'),
      detail,
      icon: RefreshCw,
      staysOpen: true,
      run: () => !check.isPending && check.mutate(),
    },
  ];
}
