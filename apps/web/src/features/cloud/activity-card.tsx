import { Check, Minus } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { EventChannel } from '@station/protocol/cloud';
import type { CloudActivity } from '@station/protocol/cloud-activity';
import { useDevices } from '../../api/devices.ts';
import { dot } from '../../i18n/words.ts';
import { Button } from '../../ui/button.tsx';
import { Card, Skeleton } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';
import { ReadFault } from '../../ui/problem.tsx';
import { TimeAgo } from '../../ui/sentence.tsx';
import { useCloudActivity } from './cloud-link.ts';
import { requestWords } from './cloud-words.ts';

const shownAtFirst = 8;

/** The latest requests of the cloud. */
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
    devices.kind === 'shown' ? (devices.value.find(({ id }) => id === deviceId)?.name ?? null) : null;
  if (entries.length === 0) return <p className="text-ink-soft">{t('cloud.activity.empty')}</p>;
  return (
    <>
      <ul className="-my-2 divide-y divide-line">
        {(all ? entries : entries.slice(0, shownAtFirst)).map((entry, index) => (
          // The key is the position from the end: a repeated line stays the same line.
          <li key={entries.length - index} className="py-2 sm:flex sm:items-baseline sm:justify-between sm:gap-4">
            <span className="block min-w-0">
              {requestWords(t, entry, nameOf)}
              {entry.outcome !== 'done' && (
                <span className="text-attention">{dot + t(`cloud.activity.${entry.outcome}`)}</span>
              )}
            </span>
            <span className="block shrink-0 text-small text-ink-soft">
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

/** A record, so that none can be forgotten. */
const order: Record<EventChannel, number> = {
  state: 0,
  status: 1,
  events: 2,
  commands: 3,
  lifecycle: 4,
  automations: 5,
  firmware: 6,
  system: 7,
};
const channels = (Object.keys(order) as EventChannel[]).sort((a, b) => order[a] - order[b]);

/** Which messages the cloud wants, and which not. */
export function ChannelsCard({ active }: { active: readonly EventChannel[] }) {
  const { t } = useTranslation();
  return (
    <Card title={t('cloud.channels.title')}>
      <ul className="space-y-2">
        {channels.map((channel) => {
          const isActive = active.includes(channel);
          const Icon = isActive ? Check : Minus;
          return (
            <li key={channel} className={classNames('flex gap-3', !isActive && 'text-ink-soft')}>
              <Icon aria-hidden className={classNames('mt-0.5 size-5 shrink-0', isActive && 'text-ok')} />
              <span className="min-w-0">
                {t(`cloud.channels.${channel}`)}
                <span className={isActive ? 'sr-only' : 'block text-small'}>
                  {isActive && ': '}
                  {t(isActive ? 'cloud.channels.yes' : 'cloud.channels.no')}
                </span>
              </span>
            </li>
          );
        })}
      </ul>
      <p className="mt-4 text-small text-ink-soft">{t('cloud.channels.help')}</p>
    </Card>
  );
}
