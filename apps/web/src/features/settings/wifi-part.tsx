import { useTranslation } from 'react-i18next';
import { useReading } from '../../api/reading.ts';
import { Skeleton } from '../../ui/card.tsx';
import { ReadFault } from '../../ui/problem.tsx';
import { DevicesWifiCard } from './devices-wifi-card.tsx';
import { WifiCard } from './wifi-card.tsx';

/** The Wi-Fi of new devices, and how those that are here get into another one. */
export function WifiPart({ usable }: { usable: boolean }) {
  const { t } = useTranslation();
  const view = useReading(['settings', 'wifi'], 'GET /api/settings/wifi');
  return (
    <>
      {view.kind === 'loading' && <Skeleton className="h-48 rounded-2xl" />}
      {view.kind === 'fault' && <ReadFault title={t('settings.fault')} {...view} />}
      {view.kind === 'shown' && <WifiCard wifi={view.value} usable={usable} />}
      <DevicesWifiCard usable={usable} />
    </>
  );
}
