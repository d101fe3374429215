import { useDeviceUpdates } from '../features/firmware/device-updates.tsx';
import { UpdatesPage } from '../features/station/updates-page.tsx';

/** Updates of the station and of its devices: one policy, one timeline. */
export function UpdatesPlace() {
  return <UpdatesPage ofDevices={useDeviceUpdates()} />;
}
