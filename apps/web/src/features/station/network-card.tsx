import { useTranslation } from 'react-i18next';
import type { WifiStatus } from '@station/protocol/agent-api';
import { formatPercent } from '../../i18n/format.ts';
import { useLocale } from '../../i18n/i18n.ts';
import { dot } from '../../i18n/words.ts';
import { Card } from '../../ui/card.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { networkLine } from './health.ts';

/** The station's network. Hidden where the agent does not manage it. */
export function NetworkCard({ wifi }: { wifi: WifiStatus }) {
  const { t } = useTranslation();
  const locale = useLocale();
  const line = networkLine(wifi);
  if (line === null) return null;
  const { signal, ip } = wifi;
  const facts = [
    ...(line.key === 'wifi' && signal !== null
      ? [t('station.network.signal', { percent: formatPercent(locale, signal) })]
      : []),
    ...(ip === null ? [] : [t('station.network.address', { ip })]),
    ...(line.key === 'hotspot' ? [t('station.network.clients', { count: wifi.hotspot.clients })] : []),
  ];
  return (
    <Card title={t('station.network.title')}>
      <div className="flex gap-3">
        <ToneIcon tone={line.tone} className="mt-0.5" />
        <div className="min-w-0">
          <h3 className="font-strong break-words">{t(`station.network.${line.key}`, { ssid: line.ssid })}</h3>
          {facts.length > 0 && <p className="text-small text-ink-soft">{facts.join(dot)}</p>}
          {line.isWithoutInternet && <p className="mt-1 text-small">{t('station.network.noInternet')}</p>}
        </div>
      </div>
    </Card>
  );
}
