import { once } from 'node:events';
import { type Message, sessionBus, Variant } from '@jellybrick/dbus-next';
import {
  adapterInterface,
  addDevice,
  addObject,
  advertise,
  advertiseIfWanted,
  bytes,
  characteristicInterface,
  characteristicPath,
  disconnect,
  dropDevice,
  type FakeBluez,
  isConnected,
  type Machine,
  pathOf,
  removeObject,
  resolveServices,
  send,
  setProperties,
} from './fake-bluez-objects.ts';
import { methods } from './fake-bluez-methods.ts';

/**
 * The parts of BlueZ that the BLE helper uses: real messages on a real bus, with behaviour that the test sets. For machines without
 * Bluetooth; the real BlueZ runs in the virtual station.
 */
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
