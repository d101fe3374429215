import { useTranslation } from 'react-i18next';
import type { ServiceStatus } from '@station/protocol/agent-api';
import { dot } from '../../i18n/words.ts';
import { Card } from '../../ui/card.tsx';
import { ToneIcon } from '../../ui/tone.tsx';
import { serviceState, toneOfService } from './health.ts';
import { serviceName, shortImage } from './words.ts';

export function ServicesCard({ services }: { services: readonly ServiceStatus[] }) {
  const { t } = useTranslation();
  return (
    <Card title={t('station.services.title')}>
      {services.length === 0 ? (
        <p className="text-ink-soft">{t('station.services.empty')}</p>
      ) : (
        <ul className="space-y-3">
          {services.map((service) => {
            const state = serviceState(service);
            return (
              <li key={service.name} className="flex gap-3">
                <ToneIcon tone={toneOfService[state]} className="mt-0.5" />
                <div className="min-w-0">
                  <h3 className="font-strong">{serviceName(t, service.name)}</h3>
                  <p className="text-small break-words text-ink-soft" title={service.image}>
                    {t(`station.services.state.${state}`) + dot}
                    <code>{shortImage(service.image)}</code>
                  </p>
                </div>
              </li>
            );
          })}
        </ul>
      )}
    </Card>
  );
}
