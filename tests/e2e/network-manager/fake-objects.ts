import { Message, type MessageBus, Variant } from '@jellybrick/dbus-next';
import { plain } from '@station/kit/message-bus';
import { deviceState, interfaces, managerPath } from '@station/agent/wifi/adapters/network-manager/objects';
import { wifiPath, type Values } from './bare-machine.ts';

export type Settings = Record<string, Record<string, Variant>>;

/** The steps that follow a requested activation. */
export type Step =
  | { state: number; reason?: number }
  | { supplicant: { state?: string; disconnect?: number; authentication?: number; association?: number } };

/** All signals of NetworkManager when it joins a network. */
export const joins: readonly Step[] = [40, 50, 60, 40, 50, 70, 80, 90, 100].map((state) => ({ state }));

export type AccessPointOptions = {
  ssid: Uint8Array;
  strength?: number;
  frequency?: number;
  flags?: number;
  wpa?: number;
  rsn?: number;
  /** Seconds since boot. */
  lastSeen?: number;
};

export const supplicantPath = '/fi/w1/wpa_supplicant1/Interfaces/0';

/** The objects of the fake on the bus. The functions below change them and send the signals of each change. */
export type FakeObjects = {
  bus: MessageBus;
  /** Path → interface → properties. */
  tree: Map<string, Record<string, Values>>;
  /** Path of a profile → its settings, with secrets. */
  contents: Map<string, Settings>;
  /** Profiles that end with their activation. */
  volatile: Set<string>;
  /** For paths of new objects. */
  nextId: number;
  /** Time of the last scan, in seconds since boot. */
  scannedAt: number;
};

export const createObjects = (bus: MessageBus): FakeObjects => ({
  bus,
  tree: new Map(),
  contents: new Map(),
  volatile: new Set(),
  nextId: 1,
  scannedAt: 1000,
});

export function emit(
  { bus }: FakeObjects,
  path: string,
  { name, member, signature }: { name: string; member: string; signature: string },
  body: unknown[],
): void {
  bus.send(new Message({ type: 4, path, interface: name, member, signature, body }));
}

const propertiesChanged = { name: interfaces.properties, member: 'PropertiesChanged', signature: 'sa{sv}as' };

export function setProperties(objects: FakeObjects, path: string, name: string, values: Values): void {
  const { tree } = objects;
  tree.set(path, { ...tree.get(path), [name]: { ...tree.get(path)?.[name], ...values } });
  emit(objects, path, propertiesChanged, [name, values, []]);
}

export const getProperty = ({ tree }: FakeObjects, path: string, name: string, property: string): unknown =>
  plain(tree.get(path)?.[name]?.[property]);

export function changeSupplicant(objects: FakeObjects, values: Values): void {
  emit(objects, supplicantPath, propertiesChanged, [interfaces.supplicantInterface, values, []]);
}

export function addAccessPoint(objects: FakeObjects, options: AccessPointOptions): string {
  const id = objects.nextId++;
  const path = `${managerPath}/AccessPoint/${id}`;
  objects.tree.set(path, {
    [interfaces.accessPoint]: {
      Ssid: new Variant('ay', Buffer.from(options.ssid)),
      Frequency: new Variant('u', options.frequency ?? 2437),
      Strength: new Variant('y', options.strength ?? 50),
      Flags: new Variant('u', options.flags ?? 1),
      WpaFlags: new Variant('u', options.wpa ?? 0),
      RsnFlags: new Variant('u', options.rsn ?? 0x188),
      HwAddress: new Variant('s', `02:00:00:00:00:${((id + 1) % 256).toString(16).padStart(2, '0')}`),
      LastSeen: new Variant('i', options.lastSeen ?? objects.scannedAt),
    },
  });
  const points = [...(getProperty(objects, wifiPath, interfaces.wireless, 'AccessPoints') as string[]), path];
  setProperties(objects, wifiPath, interfaces.wireless, { AccessPoints: new Variant('ao', points) });
  return path;
}

export function addProfile(objects: FakeObjects, settings: Settings, isUnsaved = false): string {
  const path = `${managerPath}/Settings/${objects.nextId++}`;
  objects.contents.set(path, settings);
  objects.tree.set(path, {
    [interfaces.profile]: { Flags: new Variant('u', isUnsaved ? 1 : 0), Unsaved: new Variant('b', isUnsaved) },
  });
  return path;
}

export function dropProfile(objects: FakeObjects, path: string): void {
  objects.tree.delete(path);
  objects.contents.delete(path);
  emit(objects, path, { name: interfaces.profile, member: 'Removed', signature: '' }, []);
}

export function setState(objects: FakeObjects, state: number, reason: number): void {
  const before = getProperty(objects, wifiPath, interfaces.device, 'State') as number;
  setProperties(objects, wifiPath, interfaces.device, { State: new Variant('u', state) });
  const stateChanged = { name: interfaces.device, member: 'StateChanged', signature: 'uuu' };
  emit(objects, wifiPath, stateChanged, [state, before, reason]);
}

/** Path of the profile that is active; undefined when none is. */
export const activeProfile = (objects: FakeObjects): unknown =>
  getProperty(objects, activeConnection(objects), interfaces.active, 'Connection');

const activeConnection = (objects: FakeObjects): string =>
  getProperty(objects, wifiPath, interfaces.device, 'ActiveConnection') as string;

/** Activates a profile: plays the steps, each as a separate message. */
export async function activate(objects: FakeObjects, profile: string, steps: readonly Step[]): Promise<void> {
  const { tree, contents } = objects;
  if (activeConnection(objects) !== '/') {
    setState(objects, deviceState.deactivating, 60);
    deactivate(objects, 60);
  }
  const active = `${managerPath}/ActiveConnection/${objects.nextId++}`;
  const uuid = String(plain(contents.get(profile)?.['connection']?.['uuid']));
  tree.set(active, {
    [interfaces.active]: { Connection: new Variant('o', profile), Uuid: new Variant('s', uuid) },
  });
  setProperties(objects, wifiPath, interfaces.device, { ActiveConnection: new Variant('o', active) });
  for (const step of steps) {
    // One turn of the event loop each, so that each step arrives as a separate message.
    await new Promise(setImmediate);
    if (!tree.has(active)) return;
    if ('supplicant' in step) {
      changeSupplicant(objects, supplicantValues(step.supplicant));
      continue;
    }
    if (step.state === deviceState.activated) connect(objects, profile);
    setState(objects, step.state, step.reason ?? 0);
    if (step.state === deviceState.failed) deactivate(objects, 0);
  }
}

const supplicantValues = ({
  state,
  disconnect,
  authentication,
  association,
}: Extract<Step, { supplicant: unknown }>['supplicant']): Values => ({
  ...(state === undefined ? {} : { State: new Variant('s', state) }),
  ...(disconnect === undefined ? {} : { DisconnectReason: new Variant('i', disconnect) }),
  ...(authentication === undefined ? {} : { AuthStatusCode: new Variant('i', authentication) }),
  ...(association === undefined ? {} : { AssocStatusCode: new Variant('i', association) }),
});

/** Gives the device the address and the access point of a profile. */
function connect(objects: FakeObjects, profile: string): void {
  const { tree, contents } = objects;
  const settings = contents.get(profile) ?? {};
  const isAp = plain(settings['802-11-wireless']?.['mode']) === 'ap';
  const given = plain(settings['ipv4']?.['address-data']) as { address: string }[] | undefined;
  const ssid = String(plain(settings['802-11-wireless']?.['ssid']));
  const point = [...tree].find(([, all]) => String(plain(all[interfaces.accessPoint]?.['Ssid'])) === ssid);
  const ip = `${managerPath}/IP4Config/${objects.nextId++}`;
  tree.set(ip, {
    [interfaces.ip4]: {
      AddressData: new Variant('aa{sv}', [
        { address: new Variant('s', given?.[0]?.address ?? '10.0.0.7'), prefix: new Variant('u', 24) },
      ]),
      Gateway: new Variant('s', isAp ? '' : '10.0.0.1'),
    },
  });
  setProperties(objects, wifiPath, interfaces.wireless, {
    Mode: new Variant('u', isAp ? 3 : 2),
    ActiveAccessPoint: new Variant('o', point?.[0] ?? '/'),
  });
  setProperties(objects, wifiPath, interfaces.device, { Ip4Config: new Variant('o', ip) });
}

/** Ends the active connection, and removes its profile when that is volatile. */
export function deactivate(objects: FakeObjects, reason: number): void {
  const active = activeConnection(objects);
  const profile = activeProfile(objects) as string;
  if (active === '/') return;
  const none = new Variant('o', '/');
  objects.tree.delete(active);
  setProperties(objects, wifiPath, interfaces.device, { ActiveConnection: none, Ip4Config: none });
  setProperties(objects, wifiPath, interfaces.wireless, { ActiveAccessPoint: none, Mode: new Variant('u', 2) });
  if (objects.volatile.has(profile)) dropProfile(objects, profile);
  setState(objects, deviceState.disconnected, reason);
}
