import { useTranslation } from 'react-i18next';
import { useReading } from '../../api/reading.ts';
import { Read } from '../../ui/loading.tsx';
import { DevicesWifiCard } from './devices-wifi-card.tsx';
import { WifiCard } from './wifi-card.tsx';

/** The Wi-Fi of new devices, and how those that are here get into another one. */
export function WifiPart({ usable }: { usable: boolean }) {
  const { t } = useTranslation();
  const view = useReading(['settings', 'wifi'], 'GET /api/settings/wifi');
  return (
    <>
      <Read view={view} fault={t('settings.fault')} cards={['h-48']}>
        {(wifi) => <WifiCard wifi={wifi} usable={usable} />}
      </Read>
      <DevicesWifiCard usable={usable} />
    </>
  );
}
