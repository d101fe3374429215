import { once } from 'node:events';
import { Message, sessionBus, Variant } from '@jellybrick/dbus-next';
import {
  deviceState,
  interfaces,
  managerName,
  managerPath,
  supplicantName,
} from '@station/agent/wifi/adapters/network-manager/objects';
import { plain } from '@station/kit/message-bus';
import { bareMachine, wifiPath, type Values } from './bare-machine.ts';
import {
  activate,
  activeProfile,
  addAccessPoint,
  addProfile,
  changeSupplicant,
  createObjects,
  deactivate,
  dropProfile,
  emit,
  getProperty,
  joins,
  setProperties,
  setState,
  supplicantPath,
  type AccessPointOptions,
  type FakeObjects,
  type Settings,
  type Step,
} from './fake-objects.ts';

/**
 * The parts of NetworkManager and wpa_supplicant that the adapter uses: real messages on a real bus, with behaviour that
 * the test sets. One Wi-Fi device (`wlan0`) and one wired device (`eth0`).
 */
export type FakeNetworkManager = AsyncDisposable & {
  /** Steps of the next activations, in order; default: `joins`. */
  scripts: Step[][];
  /** Answers the next AddAndActivateConnection2 with this error. */
  refusals: string[];
  /** Nothing can be written to disk. */
  isDiskFull: boolean;
  /** The next RequestScan calls are refused. */
  refusedScans: number;
  /** Added to the list by the next scan. */
  appearing: AccessPointOptions[];
  /** The `member` of each call, in order. */
  calls: string[];
  /** Settings and options of each profile that was added, unpacked. */
  added: { settings: Record<string, Record<string, unknown>>; options: Record<string, unknown> }[];
  /** `ssids` of each scan. */
  scanned: Uint8Array[][];
  /** Requested scans of wpa_supplicant for one network. */
  searched: { ssid: string; frequencies: number[] }[];
  /** A scan of wpa_supplicant is in progress. */
  isScanning: boolean;
  addAccessPoint(options: AccessPointOptions): string;
  addProfile(settings: Settings, isUnsaved?: boolean): string;
  profiles(): string[];
  set(path: string, interfaceName: string, values: Values): void;
  get(path: string, interfaceName: string, name: string): unknown;
  setStations(count: number): void;
};

export async function startFakeNetworkManager(address: string): Promise<FakeNetworkManager> {
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  await once(bus, 'connect');
  bus.on('error', () => undefined);
  const objects = createObjects(bus);
  const fake = createFake(objects);
  for (const [path, all] of Object.entries(bareMachine())) objects.tree.set(path, all);
  bus.addMethodHandler((message: Message) => {
    const method = methods[message.member];
    if (!method) return false;
    fake.calls.push(message.member);
    const reply = method(message, { fake, objects });
    bus.send(
      typeof reply === 'string'
        ? Message.newError(message, reply, 'refused')
        : Message.newMethodReturn(message, reply[0], reply[1]),
    );
    return true;
  });
  await bus.requestName(supplicantName);
  await bus.requestName(managerName);
  return fake;
}

const createFake = (objects: FakeObjects): Fake => ({
  scripts: [],
  refusals: [],
  isDiskFull: false,
  refusedScans: 0,
  appearing: [],
  calls: [],
  added: [],
  scanned: [],
  searched: [],
  isScanning: false,
  stations: 0,
  addAccessPoint: (options) => addAccessPoint(objects, options),
  addProfile: (settings, isUnsaved) => addProfile(objects, settings, isUnsaved),
  profiles: () => [...objects.contents.keys()],
  set: (path, name, values) => setProperties(objects, path, name, values),
  get: (path, name, property) => getProperty(objects, path, name, property),
  setStations(count) {
    this.stations = count;
    const stationAdded = { name: interfaces.supplicantInterface, member: 'StationAdded', signature: 'oa{sv}' };
    emit(objects, supplicantPath, stationAdded, [`${supplicantPath}/Stations/0`, {}]);
  },
  [Symbol.asyncDispose]: async () => {
    objects.bus.disconnect();
    await new Promise(setImmediate);
  },
});

type Fake = FakeNetworkManager & { stations: number };

/** Answers a call: signature and body of the reply, or the name of an error. */
type Method = (
  message: Message,
  machine: { fake: Fake; objects: FakeObjects },
) => [signature: string, body: unknown[]] | string;

const methods: Record<string, Method> = {
  GetManagedObjects: (_, { objects }) => ['a{oa{sa{sv}}}', [Object.fromEntries(objects.tree)]],
  GetSettings: ({ path }, { objects }) => {
    const settings = objects.contents.get(path);
    if (!settings) return `${managerName}.Settings.InvalidConnection`;
    // Without secrets.
    const open = Object.entries(settings).map(([name, keys]) => [
      name,
      Object.fromEntries(Object.entries(keys).filter(([key]) => key !== 'psk')),
    ]);
    return ['a{sa{sv}}', [Object.fromEntries(open)]];
  },
  GetSecrets: ({ path, body }, { objects }) => {
    const name = String(body[0]);
    const psk = objects.contents.get(path)?.[name]?.['psk'];
    return psk ? ['a{sa{sv}}', [{ [name]: { psk } }]] : `${managerName}.Settings.Connection.SettingNotFound`;
  },
  RequestScan: ({ body }, { fake, objects }) => {
    if (fake.refusedScans > 0) {
      fake.refusedScans -= 1;
      return `${managerName}.Device.NotAllowed`;
    }
    const { ssids } = plain(body[0]) as { ssids?: Uint8Array[] };
    fake.scanned.push(ssids ?? []);
    setImmediate(() => finishScan(objects, fake.appearing.splice(0)));
    return ['', []];
  },
  AddAndActivateConnection2: ({ body }, { fake, objects }) => {
    const refusal = fake.refusals.shift();
    if (refusal !== undefined) return refusal;
    const [settings, , , options] = body as [Settings, string, string, Values];
    const added = { settings: plain(settings) as never, options: plain(options) as Record<string, unknown> };
    fake.added.push(added);
    const profile = addProfile(objects, settings, true);
    if (added.options['persist'] === 'volatile') objects.volatile.add(profile);
    void activate(objects, profile, fake.scripts.shift() ?? joins);
    return ['ooa{sv}', [profile, `${managerPath}/ActiveConnection/0`, {}]];
  },
  AddConnection2: ({ body }, { fake, objects }) => {
    const refusal = fake.refusals.shift();
    if (refusal !== undefined) return refusal;
    const [settings, flags] = body as [Settings, number];
    fake.added.push({ settings: plain(settings) as never, options: { flags } });
    return ['oa{sv}', [addProfile(objects, settings, false), {}]];
  },
  ActivateConnection: ({ body }, { fake, objects }) => {
    void activate(objects, String(body[0]), fake.scripts.shift() ?? joins);
    return ['o', [`${managerPath}/ActiveConnection/0`]];
  },
  DeactivateConnection: (_, { objects }) => {
    setState(objects, deviceState.deactivating, 39);
    setImmediate(() => deactivate(objects, 39));
    return ['', []];
  },
  Delete: ({ path }, { objects }) => {
    if (!objects.tree.has(path)) return `${managerName}.Settings.InvalidConnection`;
    const isActive = activeProfile(objects) === path;
    dropProfile(objects, path);
    if (isActive) {
      setState(objects, deviceState.deactivating, 38);
      deactivate(objects, 38);
    }
    return ['', []];
  },
  Update2: ({ path }, { fake, objects }) => {
    if (fake.isDiskFull) return `${managerName}.Settings.Failed`;
    setProperties(objects, path, interfaces.profile, { Flags: new Variant('u', 0), Unsaved: new Variant('b', false) });
    emit(objects, path, { name: interfaces.profile, member: 'Updated', signature: '' }, []);
    return ['a{sv}', [{}]];
  },
  Set: ({ path, body }, { objects }) => {
    const [name, property, value] = body as [string, string, Variant];
    setProperties(objects, path, name, { [property]: value });
    return ['', []];
  },
  GetInterface: () => ['o', [supplicantPath]],
  Scan: ({ body }, { fake, objects }) => {
    const { SSIDs, Channels } = plain(body[0]) as { SSIDs: Uint8Array[]; Channels: [number, number][] };
    fake.searched.push({ ssid: String(SSIDs[0]), frequencies: Channels.map(([frequency]) => frequency) });
    setImmediate(() => changeSupplicant(objects, { Scanning: new Variant('b', false) }));
    return ['', []];
  },
  AbortScan: (_, { fake, objects }) => {
    fake.isScanning = false;
    setImmediate(() => changeSupplicant(objects, { Scanning: new Variant('b', false) }));
    return ['', []];
  },
  Get: ({ body }, { fake }) => {
    if (body[1] === 'Scanning') return ['v', [new Variant('b', fake.isScanning)]];
    const stations = Array.from({ length: fake.stations }, (_, n) => `${supplicantPath}/Stations/${n}`);
    return ['v', [new Variant('ao', stations)]];
  },
};

function finishScan(objects: FakeObjects, appearing: readonly AccessPointOptions[]): void {
  objects.scannedAt += 20;
  const lastSeen = new Variant('i', objects.scannedAt);
  for (const [path, all] of objects.tree)
    if (all[interfaces.accessPoint]) setProperties(objects, path, interfaces.accessPoint, { LastSeen: lastSeen });
  for (const point of appearing) addAccessPoint(objects, point);
  const lastScan = new Variant('x', BigInt(objects.scannedAt * 1000));
  setProperties(objects, wifiPath, interfaces.wireless, { LastScan: lastScan });
}
