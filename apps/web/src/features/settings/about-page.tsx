import { Lock } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import type { Station } from '@station/protocol/rest';
import { useReading } from '../../api/reading.ts';
import { useStatus, stationKey } from '../../api/station.ts';
import { Card } from '../../ui/card.tsx';
import { LinkRow } from '../../ui/links.tsx';
import { PageHead, PageTitle } from '../../ui/page.tsx';
import { Read } from '../../ui/loading.tsx';

/** What runs here, under which licence, where the data is, and whether the connection is encrypted. */
export function AboutPage() {
  const { t } = useTranslation();
  const view = useReading(stationKey, 'GET /api/station');
  const title = t('settings.about.title');
  const isEncrypted = location.protocol === 'https:';
  return (
    <>
      <PageHead page={title} {...(view.kind === 'shown' && { freshness: view.freshness })}>
        <PageTitle title={title}>{t('settings.rows.about.help')}</PageTitle>
      </PageHead>
      <div className="cards max-w-2xl">
        <Read view={view} fault={t('settings.fault')} cards={['h-64']}>
          {(station) => <AboutCard station={station} />}
        </Read>
        <LinkRow
          href="/secure"
          icon={Lock}
          title={t('secure.title')}
          help={t(`secure.row.${isEncrypted ? 'on' : 'off'}`)}
        />
      </div>
    </>
  );
}

function AboutCard({ station }: { station: Station }) {
  const { t } = useTranslation();
  const status = useStatus();
  const agent = status.kind === 'shown' ? status.value.agentVersion : null;
  const facts = [
    [t('settings.about.release'), station.version],
    [t('settings.about.agent'), agent ?? (status.kind === 'loading' ? '…' : t('settings.about.unknown'))],
    ...(station.id === null ? [] : [[t('settings.about.stationId'), station.id] as const]),
    [t('settings.about.licence'), t('settings.about.licenceName')],
  ] as const;
  return (
    <Card title={station.name}>
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
