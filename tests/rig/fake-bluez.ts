import { once } from 'node:events';
import { Message, MessageFlag, sessionBus, Variant, type MessageBus } from '@jellybrick/dbus-next';
import { plain } from '@station/kit/message-bus';

/**
 * The parts of BlueZ that the BLE helper uses: real messages on a real bus, with behaviour that the test sets. For machines without
 * Bluetooth; the real BlueZ runs in the virtual station.
 */

type Values = Record<string, Variant>;
type ConnectStep =
  | 'ok'
  | 'silent'
  | 'unresolved'
  | 'bare'
  | 'fail'
  | 'abort'
  | 'in_progress'
  | 'hang'
  | 'stuck'
  | 'vanish'
  | 'drop';
type WriteStep = 'ok' | 'fail' | 'refuse' | 'in_progress' | 'hang' | 'drop';

/** A device. The test changes its properties while the fake runs. */
export type Peripheral = {
  address: string;
  name?: string;
  uuids?: readonly string[];
  serviceData?: Readonly<Record<string, Uint8Array>>;
  rssi?: number;
  /** Service UUID → UUIDs of its characteristics. */
  services: Readonly<Record<string, readonly string[]>>;
  /**
   * What the next connections do; then `ok`. `silent`: BlueZ does not say that it is connected. `unresolved`: until
   * `resolve`. `bare`: it has no service. `stuck`: it and all that follow hang until the adapter was switched off.
   */
  connects?: ConnectStep[];
  writes?: WriteStep[];
  /** It advertises whenever someone looks for it. Default: true. */
  isAdvertising?: boolean;
  isPaired?: boolean;
  /** Values of characteristics, by UUID. */
  values?: Record<string, Uint8Array>;
  /** Called with every complete write. */
  onWrite?: (uuid: string, value: Uint8Array) => void;
};

export type FakeBluez = AsyncDisposable & {
  /** The `member` of each call, with the object's last part for devices, in order. */
  calls: string[];
  /** Options of each WriteValue. */
  writeOptions: Record<string, unknown>[];
  /** Filters of SetDiscoveryFilter, unpacked. */
  filters: Record<string, unknown>[];
  /** Answers the next calls of a member with these errors. */
  refusals: Record<string, string[]>;
  isDiscovering(adapter?: string): boolean;
  addAdapter(name: string, values?: Values): void;
  removeAdapter(name: string): void;
  setAdapter(name: string, values: Values): void;
  add(peripheral: Peripheral): void;
  /** It advertises once, as its properties are now. */
  advertise(peripheral: Peripheral): void;
  /** BlueZ forgets it. */
  drop(peripheral: Peripheral): void;
  /** Its services become known. */
  resolve(peripheral: Peripheral): void;
  disconnect(peripheral: Peripheral): void;
  /** Connects it as an earlier run of the helper would have. */
  connectBefore(peripheral: Peripheral): void;
  isConnected(peripheral: Peripheral): boolean;
  notify(peripheral: Peripheral, uuid: string, value: Uint8Array): void;
};

const adapterInterface = 'org.bluez.Adapter1';
const deviceInterface = 'org.bluez.Device1';
const characteristicInterface = 'org.bluez.GattCharacteristic1';
const bluezError = 'org.bluez.Error.';
const defaultAdapter = '/org/bluez/hci0';

/** Null: no answer. */
type Reply = [signature: string, body: unknown[]] | string | null;
type Machine = {
  bus: MessageBus;
  fake: FakeBluez;
  tree: Map<string, Record<string, Values>>;
  /** Adapter → clients that discover. */
  sessions: Map<string, Set<string>>;
  peripherals: Peripheral[];
  /** Calls that wait, by device path. */
  hanging: Map<string, Message[]>;
};

/** @param name of the service; another one than BlueZ's is for tests of the bus. */
export async function startFakeBluez(address: string): Promise<FakeBluez> {
  const bus = sessionBus({ busAddress: address, authMethods: ['EXTERNAL'] });
  await once(bus, 'connect');
  bus.on('error', () => undefined);
  const machine: Machine = {
    bus,
    fake: undefined as unknown as FakeBluez,
    tree: new Map(),
    sessions: new Map(),
    peripherals: [],
    hanging: new Map(),
  };
  machine.fake = createFake(machine);
  machine.fake.addAdapter('hci0');
  bus.addMethodHandler((message: Message) => answer(machine, message));
  await bus.requestName('org.bluez');
  return machine.fake;
}

function answer(machine: Machine, message: Message): boolean {
  const method = methods[message.member];
  if (!method || message.type !== 1) return false;
  const { fake, bus } = machine;
  fake.calls.push(message.member);
  const refusal = fake.refusals[message.member]?.shift();
  const reply = refusal ?? method(message, machine);
  if (reply === null) return true;
  send(bus, message, reply);
  return true;
}

function send(bus: MessageBus, message: Message, reply: NonNullable<Reply>): void {
  if ((message.flags & MessageFlag.NO_REPLY_EXPECTED) !== 0) return;
  bus.send(
    typeof reply === 'string'
      ? Message.newError(message, reply, 'refused')
      : Message.newMethodReturn(message, reply[0], reply[1]),
  );
}

const deviceName = (address: string): string => `dev_${address.replaceAll(':', '_')}`;
const pathOf = (peripheral: Peripheral): string => `${defaultAdapter}/${deviceName(peripheral.address)}`;
const none: Reply = ['', []];

const createFake = (machine: Machine): FakeBluez => ({
  calls: [],
  writeOptions: [],
  filters: [],
  refusals: {},
  isDiscovering: (adapter = 'hci0') => (machine.sessions.get(`/org/bluez/${adapter}`)?.size ?? 0) > 0,
  addAdapter: (name, values = {}) =>
    addObject(machine, `/org/bluez/${name}`, {
      [adapterInterface]: {
        Address: new Variant('s', '02:00:00:00:00:01'),
        Powered: new Variant('b', true),
        Discovering: new Variant('b', false),
        Roles: new Variant('as', ['central', 'peripheral']),
        ...values,
      },
    }),
  removeAdapter: (name) => {
    machine.sessions.delete(`/org/bluez/${name}`);
    for (const path of [...machine.tree.keys()].reverse())
      if (`${path}/`.startsWith(`/org/bluez/${name}/`)) removeObject(machine, path);
  },
  setAdapter: (name, values) => {
    if (values['Powered']?.value === false) machine.sessions.delete(`/org/bluez/${name}`);
    setProperties(machine, `/org/bluez/${name}`, adapterInterface, values);
  },
  add: (peripheral) => {
    machine.peripherals.push(peripheral);
    advertiseIfWanted(machine, peripheral);
  },
  advertise: (peripheral) => advertise(machine, peripheral),
  drop: (peripheral) => dropDevice(machine, pathOf(peripheral)),
  resolve: (peripheral) => resolveServices(machine, peripheral, peripheral.services),
  disconnect: (peripheral) => disconnect(machine, peripheral),
  connectBefore: (peripheral) => {
    machine.peripherals.push(peripheral);
    addDevice(machine, peripheral);
    resolveServices(machine, peripheral, peripheral.services);
  },
  isConnected: (peripheral) => isConnected(machine, peripheral),
  notify: (peripheral, uuid, value) => {
    const path = characteristicPath(machine, peripheral, uuid);
    if (path) setProperties(machine, path, characteristicInterface, { Value: bytes(value) });
  },
  [Symbol.asyncDispose]: async () => {
    machine.bus.disconnect();
    await new Promise(setImmediate);
  },
});

const bytes = (value: Uint8Array): Variant => new Variant('ay', Buffer.from(value));

function signal(
  machine: Machine,
  path: string,
  name: string,
  member: string,
  signature: string,
  body: unknown[],
): void {
  machine.bus.send(new Message({ type: 4, path, interface: name, member, signature, body }));
}

function addObject(machine: Machine, path: string, all: Record<string, Values>): void {
  machine.tree.set(path, all);
  signal(machine, '/', 'org.freedesktop.DBus.ObjectManager', 'InterfacesAdded', 'oa{sa{sv}}', [path, all]);
}

function removeObject(machine: Machine, path: string): void {
  const names = Object.keys(machine.tree.get(path) ?? {});
  machine.tree.delete(path);
  signal(machine, '/', 'org.freedesktop.DBus.ObjectManager', 'InterfacesRemoved', 'oas', [path, names]);
}

function setProperties(machine: Machine, path: string, name: string, values: Values, invalidated: string[] = []): void {
  const all = machine.tree.get(path);
  if (!all) return;
  const next = { ...all[name], ...values };
  for (const key of invalidated) delete next[key];
  machine.tree.set(path, { ...all, [name]: next });
  signal(machine, path, 'org.freedesktop.DBus.Properties', 'PropertiesChanged', 'sa{sv}as', [
    name,
    values,
    invalidated,
  ]);
}

const advertisedValues = (peripheral: Peripheral): Values => ({
  Address: new Variant('s', peripheral.address),
  ...(peripheral.name === undefined ? {} : { Name: new Variant('s', peripheral.name) }),
  RSSI: new Variant('n', peripheral.rssi ?? -60),
  UUIDs: new Variant('as', [...(peripheral.uuids ?? Object.keys(peripheral.services))]),
  ...(peripheral.serviceData === undefined
    ? {}
    : {
        ServiceData: new Variant(
          'a{sv}',
          Object.fromEntries(Object.entries(peripheral.serviceData).map(([uuid, data]) => [uuid, bytes(data)])),
        ),
      }),
});

function addDevice(machine: Machine, peripheral: Peripheral): void {
  addObject(machine, pathOf(peripheral), {
    [deviceInterface]: {
      ...advertisedValues(peripheral),
      Connected: new Variant('b', false),
      ServicesResolved: new Variant('b', false),
      Paired: new Variant('b', peripheral.isPaired === true),
      Trusted: new Variant('b', false),
    },
  });
}

function advertise(machine: Machine, peripheral: Peripheral): void {
  if (!machine.fake.isDiscovering() || isConnected(machine, peripheral)) return;
  if (machine.tree.has(pathOf(peripheral)))
    setProperties(machine, pathOf(peripheral), deviceInterface, advertisedValues(peripheral));
  else addDevice(machine, peripheral);
}

function advertiseIfWanted(machine: Machine, peripheral: Peripheral): void {
  if (peripheral.isAdvertising !== false) advertise(machine, peripheral);
}

function dropDevice(machine: Machine, device: string): void {
  for (const message of machine.hanging.get(device) ?? []) send(machine.bus, message, `${bluezError}Failed`);
  machine.hanging.delete(device);
  for (const path of [...machine.tree.keys()].reverse())
    if (path === device || path.startsWith(`${device}/`)) removeObject(machine, path);
}

const isConnected = ({ tree }: Machine, peripheral: Peripheral): boolean =>
  tree.get(pathOf(peripheral))?.[deviceInterface]?.['Connected']?.value === true;

function disconnect(machine: Machine, peripheral: Peripheral): void {
  const device = pathOf(peripheral);
  for (const path of [...machine.tree.keys()].reverse()) if (path.startsWith(`${device}/`)) removeObject(machine, path);
  const values = { ServicesResolved: new Variant('b', false), Connected: new Variant('b', false) };
  setProperties(machine, device, deviceInterface, values);
  for (const message of machine.hanging.get(device) ?? []) send(machine.bus, message, `${bluezError}Failed`);
  machine.hanging.delete(device);
}

function resolveServices(
  machine: Machine,
  peripheral: Peripheral,
  services: Peripheral['services'],
  connected: Values = { Connected: new Variant('b', true) },
): void {
  const device = pathOf(peripheral);
  for (const [index, [uuid, characteristics]] of Object.entries(services).entries()) {
    const path = `${device}/service00${index}0`;
    addObject(machine, path, { 'org.bluez.GattService1': { UUID: new Variant('s', uuid) } });
    for (const [at, characteristic] of characteristics.entries())
      addObject(machine, `${path}/char00${index}${at + 1}`, {
        [characteristicInterface]: { UUID: new Variant('s', characteristic), Value: bytes(new Uint8Array()) },
      });
  }
  const values = { ...connected, ServicesResolved: new Variant('b', true) };
  setProperties(machine, device, deviceInterface, values);
}

function characteristicPath({ tree }: Machine, peripheral: Peripheral, uuid: string): string | null {
  const isIt = ([path, all]: [string, Record<string, Values>]): boolean =>
    path.startsWith(`${pathOf(peripheral)}/`) && all[characteristicInterface]?.['UUID']?.value === uuid;
  return [...tree].find(isIt)?.[0] ?? null;
}

const peripheralAt = ({ peripherals }: Machine, path: string): Peripheral | undefined =>
  peripherals.find(({ address }) => path.includes(`/${deviceName(address)}`));

function hang(machine: Machine, message: Message, peripheral: Peripheral): null {
  const device = pathOf(peripheral);
  machine.hanging.set(device, [...(machine.hanging.get(device) ?? []), message]);
  return null;
}

type Method = (message: Message, machine: Machine) => Reply;

const onDevice =
  (work: (peripheral: Peripheral, message: Message, machine: Machine) => Reply): Method =>
  (message, machine) => {
    const peripheral = peripheralAt(machine, message.path);
    const isThere = peripheral !== undefined && machine.tree.has(message.path);
    return isThere ? work(peripheral, message, machine) : 'org.freedesktop.DBus.Error.UnknownObject';
  };

const connects: Record<ConnectStep, (peripheral: Peripheral, message: Message, machine: Machine) => Reply> = {
  ok: (peripheral, _, machine) => {
    setProperties(machine, pathOf(peripheral), deviceInterface, { Connected: new Variant('b', true) });
    setImmediate(() => resolveServices(machine, peripheral, peripheral.services));
    return none;
  },
  silent: (peripheral, _, machine) => {
    setImmediate(() => resolveServices(machine, peripheral, peripheral.services, {}));
    return none;
  },
  unresolved: (peripheral, _, machine) => {
    setProperties(machine, pathOf(peripheral), deviceInterface, { Connected: new Variant('b', true) });
    return none;
  },
  bare: (peripheral, _, machine) => {
    resolveServices(machine, peripheral, {});
    return none;
  },
  fail: () => `${bluezError}Failed`,
  // As "le-connection-abort-by-local": the link ends a little later than the call.
  abort: (peripheral, _, machine) => {
    setProperties(machine, pathOf(peripheral), deviceInterface, { Connected: new Variant('b', true) });
    setImmediate(() => disconnect(machine, peripheral));
    return `${bluezError}Failed`;
  },
  in_progress: () => `${bluezError}InProgress`,
  hang: (peripheral, message, machine) => hang(machine, message, peripheral),
  stuck: (peripheral, message, machine) => {
    peripheral.connects = ['stuck', ...(peripheral.connects ?? [])];
    return hang(machine, message, peripheral);
  },
  vanish: (peripheral, _, machine) => {
    dropDevice(machine, pathOf(peripheral));
    return 'org.freedesktop.DBus.Error.UnknownObject';
  },
  drop: (peripheral, _, machine) => {
    setProperties(machine, pathOf(peripheral), deviceInterface, { Connected: new Variant('b', true) });
    setImmediate(() => disconnect(machine, peripheral));
    return none;
  },
};

const writes: Record<WriteStep, (peripheral: Peripheral, message: Message, machine: Machine) => Reply> = {
  ok: (peripheral, { path, body }, machine) => {
    const uuid = String(machine.tree.get(path)?.[characteristicInterface]?.['UUID']?.value);
    peripheral.onWrite?.(uuid, Uint8Array.from(body[0] as Uint8Array));
    return none;
  },
  fail: () => `${bluezError}Failed`,
  refuse: () => `${bluezError}NotPermitted`,
  in_progress: () => `${bluezError}InProgress`,
  hang: (peripheral, message, machine) => hang(machine, message, peripheral),
  drop: (peripheral, message, machine) => {
    hang(machine, message, peripheral);
    disconnect(machine, peripheral);
    return null;
  },
};

const methods: Record<string, Method> = {
  GetManagedObjects: (_, { tree }) => ['a{oa{sa{sv}}}', [Object.fromEntries(tree)]],
  SetDiscoveryFilter: ({ body }, { fake }) => {
    fake.filters.push(plain(body[0]) as Record<string, unknown>);
    return none;
  },
  StartDiscovery: ({ path, sender }, machine) => {
    const adapter = machine.tree.get(path)?.[adapterInterface];
    if (!adapter) return 'org.freedesktop.DBus.Error.UnknownObject';
    if (adapter['Powered']?.value !== true) return `${bluezError}NotReady`;
    const clients = machine.sessions.get(path) ?? new Set();
    if (clients.has(sender)) return `${bluezError}InProgress`;
    machine.sessions.set(path, clients.add(sender));
    setProperties(machine, path, adapterInterface, { Discovering: new Variant('b', true) });
    setImmediate(() => {
      for (const peripheral of machine.peripherals) advertiseIfWanted(machine, peripheral);
    });
    return none;
  },
  StopDiscovery: ({ path, sender }, machine) => {
    if (!machine.sessions.get(path)?.delete(sender)) return `${bluezError}Failed`;
    for (const [device, all] of machine.tree)
      if (all[deviceInterface]?.['RSSI']) setProperties(machine, device, deviceInterface, {}, ['RSSI']);
    setProperties(machine, path, adapterInterface, { Discovering: new Variant('b', false) });
    return none;
  },
  RemoveDevice: ({ body }, machine) => {
    const path = String(body[0]);
    const peripheral = peripheralAt(machine, path);
    if (!peripheral || !machine.tree.has(path)) return `${bluezError}DoesNotExist`;
    dropDevice(machine, path);
    setImmediate(() => advertiseIfWanted(machine, peripheral));
    return none;
  },
  Connect: onDevice((peripheral, message, machine) => {
    if (isConnected(machine, peripheral)) return `${bluezError}AlreadyConnected`;
    return connects[peripheral.connects?.shift() ?? 'ok'](peripheral, message, machine);
  }),
  Disconnect: onDevice((peripheral, _, machine) => {
    disconnect(machine, peripheral);
    return none;
  }),
  WriteValue: onDevice((peripheral, message, machine) => {
    machine.fake.writeOptions.push(plain(message.body[1]) as Record<string, unknown>);
    return writes[peripheral.writes?.shift() ?? 'ok'](peripheral, message, machine);
  }),
  ReadValue: onDevice((peripheral, { path }, machine) => {
    const uuid = String(machine.tree.get(path)?.[characteristicInterface]?.['UUID']?.value);
    return ['ay', [Buffer.from(peripheral.values?.[uuid] ?? [])]];
  }),
  StartNotify: onDevice(() => none),
  Set: ({ path, body }, machine) => {
    const [name, property, value] = body as [string, string, Variant];
    if (property === 'Powered' && value.value === false)
      for (const peripheral of machine.peripherals)
        peripheral.connects = (peripheral.connects ?? []).filter((step) => step !== 'stuck');
    setProperties(machine, path, name, { [property]: value });
    return none;
  },
};
