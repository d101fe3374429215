import { isManager } from '@station/protocol/roles';
import { useZones } from '../api/devices.ts';
import { useUser } from '../api/services.ts';
import { ZonesCard } from '../features/devices/zones-card.tsx';
import { HouseholdPage } from '../features/settings/household-page.tsx';

/** Name, time zone, place and zones of the household. */
export function HouseholdPlace() {
  const zones = useZones();
  const mayManage = isManager(useUser().role);
  return <HouseholdPage zones={zones && <ZonesCard zones={zones} usable={mayManage} />} />;
}
