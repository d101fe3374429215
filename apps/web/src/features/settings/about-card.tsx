import { useTranslation } from 'react-i18next';
import type { Station } from '@station/protocol/rest';
import { useStatus } from '../../api/station.ts';
import { Card } from '../../ui/card.tsx';

/** What runs here, under which licence, and where the data is. */
export function AboutCard({ station }: { station: Station }) {
  const { t } = useTranslation();
  const status = useStatus();
  const agent = status.kind === 'shown' ? status.status.agentVersion : null;
  const facts = [
    [t('settings.about.release'), station.version],
    [t('settings.about.agent'), agent ?? (status.kind === 'loading' ? '…' : t('settings.about.unknown'))],
    ...(station.id === null ? [] : [[t('settings.about.stationId'), station.id] as const]),
    [t('settings.about.licence'), t('settings.about.licenceName')],
  ] as const;
  return (
    <Card title={t('settings.about.title')}>
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-2">
        {facts.map(([name, value]) => (
          <div key={name} className="contents">
            <dt className="text-ink-soft">{name}</dt>
            <dd className="break-words">{value}</dd>
          </div>
        ))}
      </dl>
      <h3 className="mt-4 border-t border-line pt-4 font-strong">{t('settings.about.data')}</h3>
      <p className="mt-1 text-ink-soft">{t('settings.about.dataHelp')}</p>
    </Card>
  );
}
