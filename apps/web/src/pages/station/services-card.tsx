import { useTranslation } from 'react-i18next';
import type { ServiceStatus } from '@station/protocol/agent-api';
import { serviceState, toneOfService } from '../../status/health.ts';
import { serviceName } from '../../status/words.ts';
import { Card } from '../../ui/card.tsx';
import { ToneIcon } from '../../ui/tone.tsx';

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
                <div className="min-w-0 flex-1">
                  <div className="flex flex-wrap justify-between gap-x-4">
                    <span className="font-strong">{serviceName(t, service.name)}</span>
                    <span className="text-ink-soft">{t(`station.services.state.${state}`)}</span>
                  </div>
                  <p className="truncate text-small text-ink-soft" title={service.image}>
                    <code>{service.image}</code>
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
