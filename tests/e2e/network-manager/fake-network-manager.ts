import { once } from 'node:events';
import { Message, sessionBus, Variant } from '@jellybrick/dbus-next';
import {
  deviceState,
  interfaces,
  managerName,
  managerPath,
  supplicantName,
} from '@station/agent/adapters/network-manager/objects';
import { plain } from '@station/agent/adapters/network-manager/bus';
import { bareMachine, wifiPath, type Values } from './bare-machine.ts';

type Settings = Record<string, Record<string, Variant>>;

/** The steps that follow a requested activation. */
export type Step =
  | { state: number; reason?: number }
  | { supplicant: { state?: string; disconnect?: number; authentication?: number; association?: number } };

type AccessPointOptions = {
  ssid: Uint8Array;
  strength?: number;
  frequency?: number;
  flags?: number;
  wpa?: number;
  rsn?: number;
  /** Seconds since boot. */
  lastSeen?: number;
};

const supplicantPath = '/fi/w1/wpa_supplicant1/Interfaces/0';

/** All signals of NetworkManager when it joins a network. */
export const joins: readonly Step[] = [40, 50, 60, 40, 50, 70, 80, 90, 100].map((state) => ({ state }));

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
  /** A scan of wpa_supplicant's is under way. */
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
  const tree = new Map<string, Record<string, Values>>();
  const contents = new Map<string, Settings>();
  let next = 1;
  let stations = 0;
  let scans = 1000;

  const emit = (path: string, name: string, member: string, signature: string, body: unknown[]): void =>
    bus.send(new Message({ type: 4, path, interface: name, member, signature, body }));
  const set = (path: string, name: string, values: Values): void => {
    tree.set(path, { ...tree.get(path), [name]: { ...tree.get(path)?.[name], ...values } });
    emit(path, interfaces.properties, 'PropertiesChanged', 'sa{sv}as', [name, values, []]);
  };
  const get = (path: string, name: string, property: string): unknown => plain(tree.get(path)?.[name]?.[property]);
  const supplicantChanged = (values: Values): void =>
    emit(supplicantPath, interfaces.properties, 'PropertiesChanged', 'sa{sv}as', [
      interfaces.supplicantInterface,
      values,
      [],
    ]);

  const setState = (state: number, reason: number): void => {
    const before = get(wifiPath, interfaces.device, 'State') as number;
    set(wifiPath, interfaces.device, { State: new Variant('u', state) });
    emit(wifiPath, interfaces.device, 'StateChanged', 'uuu', [state, before, reason]);
  };
  const release = (reason: number): void => {
    const active = get(wifiPath, interfaces.device, 'ActiveConnection') as string;
    const profile = get(active, interfaces.active, 'Connection') as string;
    if (active === '/') return;
    tree.delete(active);
    set(wifiPath, interfaces.device, { ActiveConnection: new Variant('o', '/'), Ip4Config: new Variant('o', '/') });
    set(wifiPath, interfaces.wireless, { ActiveAccessPoint: new Variant('o', '/'), Mode: new Variant('u', 2) });
    if (
      fake.added.find(({ settings }) => settings['connection']?.['uuid'] === uuidOf(profile))?.options['persist'] ===
      'volatile'
    )
      drop(profile);
    setState(deviceState.disconnected, reason);
  };
  const uuidOf = (profile: string): unknown => plain(contents.get(profile)?.['connection']?.['uuid']);
  const drop = (profile: string): void => {
    tree.delete(profile);
    contents.delete(profile);
    emit(profile, interfaces.profile, 'Removed', '', []);
  };
  const activated = (profile: string): void => {
    const settings = contents.get(profile) ?? {};
    const isAp = plain(settings['802-11-wireless']?.['mode']) === 'ap';
    const given = plain(settings['ipv4']?.['address-data']) as { address: string }[] | undefined;
    const ip = `${managerPath}/IP4Config/${next++}`;
    const point = [...tree].find(
      ([, all]) =>
        String(plain(all[interfaces.accessPoint]?.['Ssid'])) === String(plain(settings['802-11-wireless']?.['ssid'])),
    );
    tree.set(ip, {
      [interfaces.ip4]: {
        AddressData: new Variant('aa{sv}', [
          { address: new Variant('s', given?.[0]?.address ?? '10.0.0.7'), prefix: new Variant('u', 24) },
        ]),
        Gateway: new Variant('s', isAp ? '' : '10.0.0.1'),
      },
    });
    set(wifiPath, interfaces.wireless, {
      Mode: new Variant('u', isAp ? 3 : 2),
      ActiveAccessPoint: new Variant('o', point?.[0] ?? '/'),
    });
    set(wifiPath, interfaces.device, { Ip4Config: new Variant('o', ip) });
  };
  const play = async (profile: string): Promise<void> => {
    if (get(wifiPath, interfaces.device, 'ActiveConnection') !== '/') {
      setState(deviceState.deactivating, 60);
      release(60);
    }
    const active = `${managerPath}/ActiveConnection/${next++}`;
    tree.set(active, {
      [interfaces.active]: {
        Connection: new Variant('o', profile),
        Uuid: new Variant('s', String(uuidOf(profile))),
      },
    });
    set(wifiPath, interfaces.device, { ActiveConnection: new Variant('o', active) });
    for (const step of fake.scripts.shift() ?? joins) {
      // One turn of the event loop each, so that each step arrives as a separate message.
      await new Promise(setImmediate);
      if (!tree.has(active)) return;
      if ('supplicant' in step) {
        const { state, disconnect, authentication, association } = step.supplicant;
        supplicantChanged({
          ...(state === undefined ? {} : { State: new Variant('s', state) }),
          ...(disconnect === undefined ? {} : { DisconnectReason: new Variant('i', disconnect) }),
          ...(authentication === undefined ? {} : { AuthStatusCode: new Variant('i', authentication) }),
          ...(association === undefined ? {} : { AssocStatusCode: new Variant('i', association) }),
        });
        continue;
      }
      if (step.state === deviceState.activated) activated(profile);
      setState(step.state, step.reason ?? 0);
      if (step.state === deviceState.failed) release(0);
    }
  };

  const addAccessPoint = (options: AccessPointOptions): string => {
    const path = `${managerPath}/AccessPoint/${next++}`;
    tree.set(path, {
      [interfaces.accessPoint]: {
        Ssid: new Variant('ay', Buffer.from(options.ssid)),
        Frequency: new Variant('u', options.frequency ?? 2437),
        Strength: new Variant('y', options.strength ?? 50),
        Flags: new Variant('u', options.flags ?? 1),
        WpaFlags: new Variant('u', options.wpa ?? 0),
        RsnFlags: new Variant('u', options.rsn ?? 0x188),
        HwAddress: new Variant('s', `02:00:00:00:00:${(next % 256).toString(16).padStart(2, '0')}`),
        LastSeen: new Variant('i', options.lastSeen ?? scans),
      },
    });
    const points = [...(get(wifiPath, interfaces.wireless, 'AccessPoints') as string[]), path];
    set(wifiPath, interfaces.wireless, { AccessPoints: new Variant('ao', points) });
    return path;
  };
  const addProfile = (settings: Settings, isUnsaved = false): string => {
    const path = `${managerPath}/Settings/${next++}`;
    contents.set(path, settings);
    tree.set(path, {
      [interfaces.profile]: {
        Flags: new Variant('u', isUnsaved ? 1 : 0),
        Unsaved: new Variant('b', isUnsaved),
      },
    });
    return path;
  };

  const answers: Record<string, (message: Message) => [signature: string, body: unknown[]] | string> = {
    GetManagedObjects: () => ['a{oa{sa{sv}}}', [Object.fromEntries(tree)]],
    GetSettings: ({ path }) => {
      const settings = contents.get(path);
      if (!settings) return `${managerName}.Settings.InvalidConnection`;
      // Secrets are not among them.
      const open = Object.entries(settings).map(([name, keys]) => [
        name,
        Object.fromEntries(Object.entries(keys).filter(([key]) => key !== 'psk')),
      ]);
      return ['a{sa{sv}}', [Object.fromEntries(open)]];
    },
    GetSecrets: ({ path, body }) => {
      const name = String(body[0]);
      const psk = contents.get(path)?.[name]?.['psk'];
      return psk ? ['a{sa{sv}}', [{ [name]: { psk } }]] : `${managerName}.Settings.Connection.SettingNotFound`;
    },
    RequestScan: ({ body }) => {
      if (fake.refusedScans > 0) {
        fake.refusedScans -= 1;
        return `${managerName}.Device.NotAllowed`;
      }
      const { ssids } = plain(body[0]) as { ssids?: Uint8Array[] };
      fake.scanned.push(ssids ?? []);
      setImmediate(() => {
        scans += 20;
        for (const [path, all] of tree)
          if (all[interfaces.accessPoint]) set(path, interfaces.accessPoint, { LastSeen: new Variant('i', scans) });
        for (const point of fake.appearing.splice(0)) addAccessPoint(point);
        set(wifiPath, interfaces.wireless, { LastScan: new Variant('x', BigInt(scans * 1000)) });
      });
      return ['', []];
    },
    AddAndActivateConnection2: ({ body }) => {
      const refusal = fake.refusals.shift();
      if (refusal !== undefined) return refusal;
      const [settings, , , options] = body as [Settings, string, string, Values];
      fake.added.push({ settings: plain(settings) as never, options: plain(options) as never });
      const profile = addProfile(settings, true);
      void play(profile);
      return ['ooa{sv}', [profile, `${managerPath}/ActiveConnection/0`, {}]];
    },
    ActivateConnection: ({ body }) => {
      void play(String(body[0]));
      return ['o', [`${managerPath}/ActiveConnection/0`]];
    },
    DeactivateConnection: () => {
      setState(deviceState.deactivating, 39);
      setImmediate(() => release(39));
      return ['', []];
    },
    Delete: ({ path }) => {
      if (!tree.has(path)) return `${managerName}.Settings.InvalidConnection`;
      const active = get(wifiPath, interfaces.device, 'ActiveConnection') as string;
      const isActive = get(active, interfaces.active, 'Connection') === path;
      drop(path);
      if (isActive) {
        setState(deviceState.deactivating, 38);
        release(38);
      }
      return ['', []];
    },
    Update2: ({ path }) => {
      if (fake.isDiskFull) return `${managerName}.Settings.Failed`;
      set(path, interfaces.profile, { Flags: new Variant('u', 0), Unsaved: new Variant('b', false) });
      emit(path, interfaces.profile, 'Updated', '', []);
      return ['a{sv}', [{}]];
    },
    Set: ({ path, body }) => {
      const [name, property, value] = body as [string, string, Variant];
      set(path, name, { [property]: value });
      return ['', []];
    },
    GetInterface: () => ['o', [supplicantPath]],
    Scan: ({ body }) => {
      const { SSIDs, Channels } = plain(body[0]) as { SSIDs: Uint8Array[]; Channels: [number, number][] };
      fake.searched.push({ ssid: String(SSIDs[0]), frequencies: Channels.map(([frequency]) => frequency) });
      setImmediate(() => supplicantChanged({ Scanning: new Variant('b', false) }));
      return ['', []];
    },
    AbortScan: () => {
      fake.isScanning = false;
      setImmediate(() => supplicantChanged({ Scanning: new Variant('b', false) }));
      return ['', []];
    },
    Get: ({ body }) =>
      body[1] === 'Scanning'
        ? ['v', [new Variant('b', fake.isScanning)]]
        : [
            'v',
            [
              new Variant(
                'ao',
                Array.from({ length: stations }, (_, n) => `${supplicantPath}/Stations/${n}`),
              ),
            ],
          ],
  };

  const fake: FakeNetworkManager = {
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
    addAccessPoint,
    addProfile,
    profiles: () => [...contents.keys()],
    set,
    get,
    setStations: (count) => {
      stations = count;
      emit(supplicantPath, interfaces.supplicantInterface, 'StationAdded', 'oa{sv}', [
        `${supplicantPath}/Stations/0`,
        {},
      ]);
    },
    [Symbol.asyncDispose]: async () => {
      bus.disconnect();
      await new Promise(setImmediate);
    },
  };
  for (const [path, all] of Object.entries(bareMachine())) tree.set(path, all);
  bus.addMethodHandler((message: Message) => {
    const answer = answers[message.member];
    if (!answer) return false;
    fake.calls.push(message.member);
    const reply = answer(message);
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
