import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { CloudActivity } from '@station/protocol/cloud-activity';
import { useDevices } from '../../api/use-devices.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { ReadFault } from '../../ui/read-fault.tsx';
import { Skeleton } from '../../ui/skeleton.tsx';
import { TimeAgo } from '../../ui/time-ago.tsx';
import { requestWords } from './cloud-words.ts';
import { useCloudActivity } from './use-cloud.ts';

const shownAtFirst = 8;

/** What the cloud asked of the station lately. */
export function ActivityCard() {
  const { t } = useTranslation();
  const view = useCloudActivity();
  if (view.kind === 'fault') return <ReadFault title={t('cloud.activity.fault')} {...view} />;
  return (
    <Card title={t('cloud.activity.title')}>
      {view.kind === 'loading' ? <Skeleton className="h-24" /> : <List entries={view.value} />}
    </Card>
  );
}

function List({ entries }: { entries: readonly CloudActivity[] }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const devices = useDevices();
  const nameOf = (deviceId: string): string | null =>
    devices.kind === 'shown' ? (devices.devices.find(({ id }) => id === deviceId)?.name ?? null) : null;
  if (entries.length === 0) return <p className="text-ink-soft">{t('cloud.activity.empty')}</p>;
  return (
    <>
      <ul className="-my-2 divide-y divide-line">
        {(all ? entries : entries.slice(0, shownAtFirst)).map((entry, index) => (
          // By its place from the end: a line that is said once more stays the same line.
          <li key={entries.length - index} className="flex flex-wrap items-baseline justify-between gap-x-4 py-2">
            <span className="min-w-0">
              {requestWords(t, entry, nameOf)}
              {entry.outcome !== 'done' && (
                <span className="text-attention">{dot + t(`cloud.activity.${entry.outcome}`)}</span>
              )}
            </span>
            <span className="text-small text-ink-soft">
              {entry.times > 1 && t('cloud.activity.times', { count: entry.times }) + dot}
              <TimeAgo at={entry.at} />
            </span>
          </li>
        ))}
      </ul>
      {entries.length > shownAtFirst && (
        <Button kind="quiet" className="mt-4 -mb-2 -ml-4" aria-expanded={all} onClick={() => setAll(!all)}>
          {t(all ? 'action.showFewer' : 'action.showAll')}
        </Button>
      )}
    </>
  );
}
