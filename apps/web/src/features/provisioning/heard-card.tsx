import { useTranslation } from 'react-i18next';
import { systemNames } from '@station/protocol/gateway-systems';
import type { HeardSystem } from '@station/protocol/gateways';
import { useReading } from '../../api/reading.ts';
import { dot } from '../../i18n/words.ts';
import { Card } from '../../ui/card.tsx';
import { LinkButton } from '../../ui/links.tsx';
import { Sentence, TimeAgo } from '../../ui/sentence.tsx';

/** Systems that were noticed and are not connected: "Connect it" opens the form, filled in. */
export function HeardCard() {
  const { t } = useTranslation();
  // Somebody who has just switched one on looks here whether it is noticed.
  const view = useReading(['gateways', 'heard'], 'GET /api/gateways/heard', { isBusy: () => true });
  if (view.kind !== 'shown' || view.value.length === 0) return null;
  return (
    <Card title={t('gateways.heard.title')}>
      <p className="-mt-2 mb-4 text-ink-soft">{t('gateways.heard.help')}</p>
      <ul className="divide-y divide-line">
        {view.value.map((system) => (
          <Row key={`${system.dialect} ${system.baseTopic}`} system={system} />
        ))}
      </ul>
    </Card>
  );
}

function Row({ system: { dialect, baseTopic, topic, how, seenAt } }: { system: HeardSystem }) {
  const { t } = useTranslation();
  const asked = new URLSearchParams({ system: dialect, topic: baseTopic });
  return (
    <li className="flex flex-wrap items-center gap-x-4 gap-y-3 py-4 first:pt-0 last:pb-0">
      <div className="min-w-0 flex-1 basis-60">
        <h3 className="font-strong break-words">{[systemNames[dialect], baseTopic].join(dot)}</h3>
        <p className="text-small break-words text-ink-soft first-letter:uppercase">
          <Sentence text={(time) => t(`gateways.heard.${how}`, { time, topic })} slot={<TimeAgo at={seenAt} />} />
        </p>
      </div>
      <LinkButton href={`/add/gateways?${asked.toString()}`}>{t('gateways.heard.connect')}</LinkButton>
    </li>
  );
}
