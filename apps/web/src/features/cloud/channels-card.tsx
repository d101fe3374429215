import { Check, Minus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { EventChannel } from '@station/protocol/cloud';
import { Card } from '../../ui/card.tsx';
import { classNames } from '../../ui/class-names.ts';

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

/** What the cloud wants to hear, and what not. */
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
