import { WifiPart } from '../features/settings/wifi-part.tsx';
import { NetworkPage } from '../features/station/network-page.tsx';

/** The network of the station, and that of its devices. */
export function NetworkPlace() {
  return <NetworkPage ofDevices={(usable) => <WifiPart usable={usable} />} />;
}
