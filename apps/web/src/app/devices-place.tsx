import { CirclePlus } from 'lucide-react';
import { useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { isManager } from '@station/protocol/roles';
import { useUser } from '../api/services.ts';
import { DevicesPage } from '../features/devices/devices-page.tsx';
import { FirmwareDialog, useFirmwareOffers } from '../features/firmware/offers.tsx';
import { LinkRow } from '../ui/links.tsx';

/** All devices, with what firmware has to say about them, and the way to those that the station does not know. */
export function DevicesPlace() {
  const { t } = useTranslation();
  const { role } = useUser();
  const offerOf = useFirmwareOffers();
  const firmware = useMemo(() => ({ offerOf, Dialog: FirmwareDialog }), [offerOf]);
  return (
    <>
      <DevicesPage firmware={firmware} />
      {isManager(role) && (
        <div className="mt-6">
          <LinkRow
            href="/unknown-devices"
            icon={CirclePlus}
            title={t('unknownDevices.title')}
            help={t('unknownDevices.lead')}
          />
        </div>
      )}
    </>
  );
}
