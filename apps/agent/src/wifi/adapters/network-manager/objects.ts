import { ownValue } from '@station/protocol/own-value';
/** NetworkManager's names on the bus, and how its objects are read. Source: NetworkManager D-Bus API reference, version 1.42. */

export const managerName = 'org.freedesktop.NetworkManager';
export const managerPath = '/org/freedesktop/NetworkManager';
export const settingsPath = `${managerPath}/Settings`;
export const supplicantName = 'fi.w1.wpa_supplicant1';
export const noObject = '/';

export const interfaces = {
  manager: managerName,
  device: `${managerName}.Device`,
  wireless: `${managerName}.Device.Wireless`,
  wired: `${managerName}.Device.Wired`,
  accessPoint: `${managerName}.AccessPoint`,
  active: `${managerName}.Connection.Active`,
  ip4: `${managerName}.IP4Config`,
  settings: `${managerName}.Settings`,
  profile: `${managerName}.Settings.Connection`,
  properties: 'org.freedesktop.DBus.Properties',
  supplicantInterface: `${supplicantName}.Interface`,
} as const;

/** NMDeviceState. */
export const deviceState = {
  unmanaged: 10,
  unavailable: 20,
  disconnected: 30,
  prepare: 40,
  config: 50,
  needAuth: 60,
  ipConfig: 70,
  ipCheck: 80,
  secondaries: 90,
  activated: 100,
  deactivating: 110,
  failed: 120,
} as const;

/** NMDeviceType. */
export const deviceType = { ethernet: 1, wifi: 2, veth: 20 } as const;

/** Those that cables are put into: bond, VLAN, bridge, team, macvlan. */
export const compoundTypes: readonly number[] = [10, 11, 13, 15, 18];

/** NMDeviceInterfaceFlags: there is a carrier. */
export const carrierFlag = 0x10000;

/** NM80211Mode. */
export const wifiMode = { infrastructure: 2, accessPoint: 3 } as const;

/** NMDeviceWifiCapabilities: the device can be an access point. */
export const canBeAccessPointFlag = 0x40;

export type Properties = Readonly<Record<string, unknown>>;
/** Object path → interface → properties. */
export type ObjectTree = ReadonlyMap<string, Readonly<Record<string, Properties>>>;

export function treeOf(value: unknown): ObjectTree {
  return new Map(Object.entries(record(value)).map(([path, all]) => [path, all as Record<string, Properties>]));
}

export const record = (value: unknown): Properties =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Properties) : {};
export const text = (value: unknown): string => (typeof value === 'string' ? value : '');
export const number = (value: unknown): number => (typeof value === 'number' ? value : 0);
export const bytes = (value: unknown): Uint8Array => (value instanceof Uint8Array ? value : new Uint8Array());
export const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

/** An interface's properties of the object at `path`; null when there is none. */
export const propertiesOf = (tree: ObjectTree, path: unknown, name: string): Properties | null =>
  ownValue(tree.get(text(path)), name) ?? null;

/** The first IPv4 address of a device and its gateway. Link-local ones (RFC 3927) are none: nobody gave them. */
export function ipOf(tree: ObjectTree, device: Properties): { ip: string; gateway: string | null } | null {
  const config = propertiesOf(tree, device['Ip4Config'], interfaces.ip4);
  for (const entry of list(config?.['AddressData'])) {
    const ip = text(record(entry)['address']);
    if (ip !== '' && !ip.startsWith('169.254.')) return { ip, gateway: text(config?.['Gateway']) || null };
  }
  return null;
}

/** Path and properties of every device of a type. */
export function devicesOf(tree: ObjectTree, type: number): { path: string; device: Properties }[] {
  return [...tree].flatMap(([path, all]) => {
    const device = all[interfaces.device];
    return device && device['DeviceType'] === type ? [{ path, device }] : [];
  });
}

export type WifiDevice = { path: string; device: Properties; wireless: Properties };

/** The Wi-Fi device of that name; without a name the first that is managed, else the first. */
export function wifiDeviceOf(tree: ObjectTree, name: string | null): WifiDevice | null {
  const all = devicesOf(tree, deviceType.wifi)
    .map(({ path, device }) => ({ path, device, wireless: propertiesOf(tree, path, interfaces.wireless) ?? {} }))
    .sort((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }));
  if (name !== null) return all.find(({ device }) => device['Interface'] === name) ?? null;
  return all.find(({ device }) => device['Managed'] === true) ?? all[0] ?? null;
}
