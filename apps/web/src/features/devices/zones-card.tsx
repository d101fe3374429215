import { useTranslation } from 'react-i18next';
import type { Zone } from '@station/protocol/devices';
import { useDeviceOutline } from '../../api/devices.ts';
import { Card } from '../../ui/card.tsx';
import { ArrangeButton } from './arrange-button.tsx';
import { ZoneEdit } from './zone-head.tsx';

/** The zones of the household in its order, each to be renamed or removed. */
export function ZonesCard({ zones, usable }: { zones: readonly Zone[]; usable: boolean }) {
  const { t } = useTranslation();
  const view = useDeviceOutline();
  const devices = view.kind === 'shown' ? view.value : [];
  return (
    <Card title={t('settings.zones.title')} aside={<ArrangeButton zones={zones} mayManage={usable} />}>
      {zones.length === 0 && <p className="text-ink-soft">{t('settings.zones.none')}</p>}
      <ul className="-my-2 divide-y divide-line">
        {zones.map((zone) => (
          <li key={zone.id} className="flex min-h-14 items-center gap-3">
            <span className="min-w-0 flex-1 break-words">{zone.name}</span>
            <span className="text-small text-ink-soft">
              {t('settings.zones.devices', { count: devices.filter(({ zoneId }) => zoneId === zone.id).length })}
            </span>
            {usable && <ZoneEdit zone={zone} />}
          </li>
        ))}
      </ul>
    </Card>
  );
}
