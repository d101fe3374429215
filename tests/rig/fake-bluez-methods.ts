import { type Message, Variant } from '@jellybrick/dbus-next';
import { plain } from '@station/kit/message-bus';
import {
  adapterInterface,
  advertiseIfWanted,
  bluezError,
  characteristicInterface,
  type ConnectStep,
  deviceInterface,
  disconnect,
  dropDevice,
  isConnected,
  type Machine,
  none,
  pathOf,
  type Peripheral,
  peripheralAt,
  type Reply,
  resolveServices,
  setProperties,
  type WriteStep,
} from './fake-bluez-objects.ts';

/** What the fake BlueZ does when it is called. */

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

export const methods: Record<string, Method> = {
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
  StartNotify: onDevice((peripheral, message, machine) =>
    peripheral.hangsOnNotify === true ? hang(machine, message, peripheral) : none,
  ),
  Set: ({ path, body }, machine) => {
    const [name, property, value] = body as [string, string, Variant];
    if (property === 'Powered' && value.value === false)
      for (const peripheral of machine.peripherals)
        peripheral.connects = (peripheral.connects ?? []).filter((step) => step !== 'stuck');
    setProperties(machine, path, name, { [property]: value });
    return none;
  },
};
