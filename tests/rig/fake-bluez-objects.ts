import { Message, MessageFlag, Variant, type MessageBus } from '@jellybrick/dbus-next';

/** The objects of the fake BlueZ on the bus: adapters, devices and their characteristics, and the signals that tell of them. */

export type Values = Record<string, Variant>;
export type ConnectStep =
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
export type WriteStep = 'ok' | 'fail' | 'refuse' | 'in_progress' | 'hang' | 'drop';

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
  /** Whoever asks for its notifications gets no answer. */
  hangsOnNotify?: boolean;
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
  /** Answers the next calls of a member with these errors; null: as usual. */
  refusals: Record<string, (string | null)[]>;
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

export const adapterInterface = 'org.bluez.Adapter1';
export const deviceInterface = 'org.bluez.Device1';
export const characteristicInterface = 'org.bluez.GattCharacteristic1';
export const bluezError = 'org.bluez.Error.';
const defaultAdapter = '/org/bluez/hci0';

/** Null: no answer. */
export type Reply = [signature: string, body: unknown[]] | string | null;
export type Machine = {
  bus: MessageBus;
  fake: FakeBluez;
  tree: Map<string, Record<string, Values>>;
  /** Adapter → clients that discover. */
  sessions: Map<string, Set<string>>;
  peripherals: Peripheral[];
  /** Calls that wait, by device path. */
  hanging: Map<string, Message[]>;
};

export function send(bus: MessageBus, message: Message, reply: NonNullable<Reply>): void {
  if ((message.flags & MessageFlag.NO_REPLY_EXPECTED) !== 0) return;
  bus.send(
    typeof reply === 'string'
      ? Message.newError(message, reply, 'refused')
      : Message.newMethodReturn(message, reply[0], reply[1]),
  );
}

const deviceName = (address: string): string => `dev_${address.replaceAll(':', '_')}`;
export const pathOf = (peripheral: Peripheral): string => `${defaultAdapter}/${deviceName(peripheral.address)}`;
export const none: Reply = ['', []];

export const bytes = (value: Uint8Array): Variant => new Variant('ay', Buffer.from(value));

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

export function addObject(machine: Machine, path: string, all: Record<string, Values>): void {
  machine.tree.set(path, all);
  signal(machine, '/', 'org.freedesktop.DBus.ObjectManager', 'InterfacesAdded', 'oa{sa{sv}}', [path, all]);
}

export function removeObject(machine: Machine, path: string): void {
  const names = Object.keys(machine.tree.get(path) ?? {});
  machine.tree.delete(path);
  signal(machine, '/', 'org.freedesktop.DBus.ObjectManager', 'InterfacesRemoved', 'oas', [path, names]);
}

export function setProperties(
  machine: Machine,
  path: string,
  name: string,
  values: Values,
  invalidated: string[] = [],
): void {
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

export function addDevice(machine: Machine, peripheral: Peripheral): void {
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

export function advertise(machine: Machine, peripheral: Peripheral): void {
  if (!machine.fake.isDiscovering() || isConnected(machine, peripheral)) return;
  if (machine.tree.has(pathOf(peripheral)))
    setProperties(machine, pathOf(peripheral), deviceInterface, advertisedValues(peripheral));
  else addDevice(machine, peripheral);
}

export function advertiseIfWanted(machine: Machine, peripheral: Peripheral): void {
  if (peripheral.isAdvertising !== false) advertise(machine, peripheral);
}

export function dropDevice(machine: Machine, device: string): void {
  for (const message of machine.hanging.get(device) ?? []) send(machine.bus, message, `${bluezError}Failed`);
  machine.hanging.delete(device);
  for (const path of [...machine.tree.keys()].reverse())
    if (path === device || path.startsWith(`${device}/`)) removeObject(machine, path);
}

export const isConnected = ({ tree }: Machine, peripheral: Peripheral): boolean =>
  tree.get(pathOf(peripheral))?.[deviceInterface]?.['Connected']?.value === true;

export function disconnect(machine: Machine, peripheral: Peripheral): void {
  const device = pathOf(peripheral);
  for (const path of [...machine.tree.keys()].reverse()) if (path.startsWith(`${device}/`)) removeObject(machine, path);
  const values = { ServicesResolved: new Variant('b', false), Connected: new Variant('b', false) };
  setProperties(machine, device, deviceInterface, values);
  for (const message of machine.hanging.get(device) ?? []) send(machine.bus, message, `${bluezError}Failed`);
  machine.hanging.delete(device);
}

export function resolveServices(
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

export function characteristicPath({ tree }: Machine, peripheral: Peripheral, uuid: string): string | null {
  const isIt = ([path, all]: [string, Record<string, Values>]): boolean =>
    path.startsWith(`${pathOf(peripheral)}/`) && all[characteristicInterface]?.['UUID']?.value === uuid;
  return [...tree].find(isIt)?.[0] ?? null;
}

export const peripheralAt = ({ peripherals }: Machine, path: string): Peripheral | undefined =>
  peripherals.find(({ address }) => path.includes(`/${deviceName(address)}`));
