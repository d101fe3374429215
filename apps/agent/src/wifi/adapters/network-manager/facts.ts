import type { RadioFacts } from '../../wifi-ports.ts';
import { ssidFromBytes, type SsidHex } from '../../../core/wifi-network.ts';
import {
  bytes,
  canBeAccessPointFlag,
  carrierFlag,
  compoundTypes,
  devicesOf,
  deviceState,
  deviceType,
  interfaces,
  ipOf,
  managerPath,
  number,
  propertiesOf,
  text,
  wifiDeviceOf,
  wifiMode,
  type ObjectTree,
  type Properties,
  type WifiDevice,
} from './objects.ts';
import { isCandidate, isUnkept, knownProfiles, type Profile } from './profiles.ts';

export type Observed = {
  tree: ObjectTree;
  profiles: readonly Profile[];
  blocked: 'no' | 'soft' | 'hard';
  /** Number of clients on the hotspot. */
  clients: number;
  /** Addresses, as the kernel has them, of wired interfaces that NetworkManager does not manage and of compounds. */
  foreign: ReadonlyMap<string, { ip: string; gateway: string | null }>;
} & HostFacts;

/** Facts that are known even without NetworkManager. */
export type HostFacts = Pick<RadioFacts, 'hasLeftovers' | 'hasRoute'>;

type Radio = NonNullable<RadioFacts['radio']>;

/** The facts when the manager does not answer. */
export const absentFacts = (host: HostFacts): RadioFacts => ({
  manager: 'absent',
  radio: null,
  ethernet: null,
  known: [],
  hidden: [],
  unkept: [],
  ...host,
});

/** The facts for the watchdog, from NetworkManager's objects. */
export function factsOf(observed: Observed, interfaceName: string | null): RadioFacts {
  const wifi = wifiDeviceOf(observed.tree, interfaceName);
  const name = wifi ? text(wifi.device['Interface']) : (interfaceName ?? '');
  const known = knownProfiles(observed.profiles, name);
  return {
    manager: 'running',
    radio: wifi ? radioOf(observed, wifi) : null,
    ethernet: ethernetOf(observed),
    known: namesOf(known),
    hidden: namesOf(known.filter(({ isHidden }) => isHidden)),
    unkept: namesOf(known.filter(isUnkept)),
    hasLeftovers: observed.hasLeftovers,
    hasRoute: observed.hasRoute,
  };
}

const namesOf = (profiles: readonly Profile[]): SsidHex[] => [...new Set(profiles.map(({ ssid }) => ssid))];

/** The profile that is active, or being activated, on a device. */
export function activeProfileOf(
  tree: ObjectTree,
  profiles: readonly Profile[],
  device: Properties,
): { activePath: string; profile: Profile | null } | null {
  const activePath = text(device['ActiveConnection']);
  const active = propertiesOf(tree, activePath, interfaces.active);
  if (!active) return null;
  return { activePath, profile: profiles.find(({ path }) => path === text(active['Connection'])) ?? null };
}

function radioOf(observed: Observed, wifi: WifiDevice): Radio {
  const { device, wireless } = wifi;
  const number_ = number(device['State']);
  const active = activeProfileOf(observed.tree, observed.profiles, device);
  const address = ipOf(observed.tree, device);
  const isAccessPoint = active?.profile?.mode === 'ap' || wireless['Mode'] === wifiMode.accessPoint;
  const isUp = number_ === deviceState.activated;
  const state = stateOf(number_, isAccessPoint);
  const point = propertiesOf(observed.tree, wireless['ActiveAccessPoint'], interfaces.accessPoint);
  const ssid = active?.profile?.ssid ?? ssidFromBytes(bytes(point?.['Ssid']));
  return {
    interface: text(device['Interface']),
    isManaged: device['Managed'] === true && number_ !== deviceState.unmanaged,
    blocked: blockedOf(observed),
    canBeAccessPoint: (number(wireless['WirelessCapabilities']) & canBeAccessPointFlag) !== 0,
    state,
    client:
      isUp && !isAccessPoint
        ? {
            ssid,
            ip: address?.ip ?? null,
            gateway: address?.gateway ?? null,
            signal: number(point?.['Strength']),
            candidateId: active?.profile && isCandidate(active.profile) ? active.profile.uuid : null,
          }
        : null,
    hotspot: isUp && isAccessPoint ? { ssid, ip: address?.ip ?? '', clients: observed.clients } : null,
  };
}

function stateOf(state: number, isAccessPoint: boolean): Radio['state'] {
  if (state < deviceState.disconnected) return 'unavailable';
  if (state === deviceState.activated) return isAccessPoint ? 'hotspot' : 'connected';
  if (state >= deviceState.prepare && state < deviceState.activated) return 'connecting';
  return 'disconnected';
}

/** The kernel's switches first; NetworkManager's own view where the kernel shows none. */
function blockedOf({ tree, blocked }: Observed): Radio['blocked'] {
  if (blocked !== 'no') return blocked;
  const manager = propertiesOf(tree, managerPath, interfaces.manager);
  if (manager?.['WirelessHardwareEnabled'] === false) return 'hard';
  return manager?.['WirelessEnabled'] === false ? 'soft' : 'no';
}

function ethernetOf({ tree, foreign }: Observed): RadioFacts['ethernet'] {
  // Virtual links belong to containers, and NetworkManager ignores them; one that it manages counts as a cable.
  const virtual = devicesOf(tree, deviceType.veth).filter(({ device }) => device['State'] === deviceState.activated);
  for (const { path, device } of [...devicesOf(tree, deviceType.ethernet), ...virtual]) {
    const name = text(device['Interface']);
    const state = number(device['State']);
    const own = state === deviceState.activated ? ipOf(tree, device) : null;
    const hasCarrier = propertiesOf(tree, path, interfaces.wired)?.['Carrier'] === true;
    const address = own ?? (state === deviceState.unmanaged && hasCarrier ? foreign.get(name) : undefined);
    if (address) return { interface: name, ...address };
  }
  return compoundOf(tree, foreign);
}

/** A cable in a bridge or the like. The way out tells it from those of containers and virtual machines. */
function compoundOf(tree: ObjectTree, foreign: Observed['foreign']): RadioFacts['ethernet'] {
  for (const { device } of compoundTypes.flatMap((type) => devicesOf(tree, type))) {
    const name = text(device['Interface']);
    const hasCarrier = (number(device['InterfaceFlags']) & carrierFlag) !== 0;
    const address = foreign.get(name);
    if (hasCarrier && address && address.gateway !== null) return { interface: name, ...address };
  }
  return null;
}
