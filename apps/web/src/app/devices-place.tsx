import { useMemo } from 'react';
import { DevicesPage } from '../features/devices/devices-page.tsx';
import { FirmwareDialog, useFirmwareOffers } from '../features/firmware/offers.tsx';

/** All devices, with what firmware has to say about them. */
export function DevicesPlace() {
  const offerOf = useFirmwareOffers();
  const firmware = useMemo(() => ({ offerOf, Dialog: FirmwareDialog }), [offerOf]);
  return <DevicesPage firmware={firmware} />;
}
