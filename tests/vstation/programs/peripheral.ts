/**
 * A device of the field on a Bluetooth controller of its own, as a program in the machine: `peripheral.mjs ADAPTER PORT`.
 *
 * It takes one order a line on a TCP port, and tells what happens to it (`peripheral-frames.ts`). It registers again after bluetoothd was
 * restarted or the controller has come back.
 */
import { execFile } from 'node:child_process';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Message, MessageType, Variant, systemBus } from '@jellybrick/dbus-next';
import {
  improvCommandUuid,
  improvServiceDataUuid,
  improvServiceUuid,
  provisioningCharacteristicUuid,
  provisioningServiceUuid,
} from '@station/protocol/ble-frames';
import { createImprov } from './improv-device.ts';
import {
  drawFault,
  type Advertisement,
  type Fault,
  type PeripheralEvent,
  type PeripheralOrder,
} from './peripheral-frames.ts';

type Properties = Record<string, Variant>;

const [adapter = 'hci1', port = '4101'] = process.argv.slice(2);
const adapterPath = `/org/bluez/${adapter}`;
const appPath = '/station/app';
const advertisementPath = '/station/advertisement';
const interfaces = {
  characteristic: 'org.bluez.GattCharacteristic1',
  service: 'org.bluez.GattService1',
  advertisement: 'org.bluez.LEAdvertisement1',
  properties: 'org.freedesktop.DBus.Properties',
  objects: 'org.freedesktop.DBus.ObjectManager',
} as const;

/** BlueZ itself would take two seconds to end a link. */
const dropLinks = `for handle in $(hcitool -i ${adapter} con | sed -n 's/.* handle \\([0-9]*\\) .*/\\1/p'); do
  hcitool -i ${adapter} ledc "$handle"
done`;

/** By then its answer has arrived. */
const restartMs = 300;

const bus = systemBus();
const clients = new Set<Socket>();

function tell(event: PeripheralEvent): void {
  const line = `${JSON.stringify({ atMs: Date.now(), ...event })}\n`;
  for (const client of clients) client.write(line);
  process.stdout.write(line);
}

async function call(
  path: string,
  name: string,
  member: string,
  signature = '',
  body: unknown[] = [],
): Promise<unknown[]> {
  const reply = await bus.call(
    new Message({ destination: 'org.bluez', path, interface: name, member, signature, body }),
  );
  return reply?.body ?? [];
}

// What it is, and how it fails.
let advertisement: Advertisement | null = null;
let faults = { share: 0, random: Math.random };
let fault: Fault | null = null;
let answerMs = 0;
let isAppRegistered = false;
let isAdvertised = false;
const written = new Map<string, Buffer>();
const connectedCentrals = new Set<string>();

const improv = createImprov({
  notify: (uuid, value) => {
    const object = [...characteristics].find(([, { uuid: own }]) => own === uuid);
    if (object === undefined) return;
    const changed = { Value: new Variant('ay', value) };
    signal(object[0], [interfaces.characteristic, changed, []]);
  },
  onCredentials: (credentials) => tell({ event: 'credentials', ...credentials }),
});

type Characteristic = {
  uuid: string;
  service: string;
  flags: string[];
  read?: () => Buffer;
  write?: (value: Buffer) => void;
};
const stationService = `${appPath}/station`;
const improvService = `${appPath}/improv`;
const services = new Map([
  [stationService, provisioningServiceUuid],
  [improvService, improvServiceUuid],
]);
const improvUuid = (end: number): string => improvCommandUuid.replace(/.$/, String(end));
const characteristics = new Map<string, Characteristic>([
  [
    `${stationService}/write`,
    {
      uuid: provisioningCharacteristicUuid,
      service: stationService,
      flags: ['write'],
      write: (value) => tell({ event: 'written', base64: value.toString('base64') }),
    },
  ],
  ...[1, 2, 4, 5].map((end): [string, Characteristic] => [
    `${improvService}/c${end}`,
    {
      uuid: improvUuid(end),
      service: improvService,
      flags: end === 5 ? ['read'] : ['read', 'notify'],
      read: () => improv.read(improvUuid(end)),
    },
  ]),
  [
    `${improvService}/c3`,
    {
      uuid: improvCommandUuid,
      service: improvService,
      flags: ['write', 'write-without-response'],
      write: (value) => improv.write(value),
    },
  ],
]);

/** Path → interface → properties, of everything that BlueZ reads from here. */
function objects(): Record<string, Record<string, Properties>> {
  const own: Record<string, Record<string, Properties>> = {};
  for (const [path, uuid] of services)
    own[path] = { [interfaces.service]: { UUID: new Variant('s', uuid), Primary: new Variant('b', true) } };
  for (const [path, { uuid, service, flags }] of characteristics) {
    own[path] = {
      [interfaces.characteristic]: {
        UUID: new Variant('s', uuid),
        Service: new Variant('o', service),
        Flags: new Variant('as', flags),
      },
    };
  }
  return own;
}

function advertisementProperties({ name, isImprov = false }: Advertisement): Properties {
  const data = { [improvServiceDataUuid]: new Variant('ay', improv.serviceData()) };
  return {
    Type: new Variant('s', 'peripheral'),
    ServiceUUIDs: new Variant('as', [isImprov ? improvServiceUuid : provisioningServiceUuid]),
    LocalName: new Variant('s', name),
    ...(isImprov ? { ServiceData: new Variant('a{sv}', data) } : {}),
  };
}

function signal(path: string, body: unknown[]): void {
  const { SIGNAL: type } = MessageType;
  const header = { path, interface: interfaces.properties, member: 'PropertiesChanged', signature: 'sa{sv}as' };
  bus.send(new Message({ type, ...header, body }));
}

/** Answers what BlueZ calls here. */
bus.addMethodHandler((message) => {
  if (message.type !== MessageType.METHOD_CALL || message.path?.startsWith('/station/') !== true) return false;
  void answer(message).then(
    ({ signature = '', body = [] }) => bus.send(Message.newMethodReturn(message, signature, body)),
    (error: Error) => bus.send(Message.newError(message, 'org.bluez.Error.Failed', error.message)),
  );
  return true;
});

async function answer({ path = '', member, body }: Message): Promise<{ signature?: string; body?: unknown[] }> {
  const characteristic = characteristics.get(path);
  switch (member) {
    case 'GetManagedObjects':
      return { signature: 'a{oa{sa{sv}}}', body: [objects()] };
    case 'GetAll':
      if (path === advertisementPath && advertisement !== null)
        return { signature: 'a{sv}', body: [advertisementProperties(advertisement)] };
      return { signature: 'a{sv}', body: [objects()[path]?.[String(body[0])] ?? {}] };
    case 'ReadValue':
      return { signature: 'ay', body: [characteristic?.read?.() ?? Buffer.alloc(0)] };
    case 'WriteValue':
      await receive(path, body[0] as Buffer, body[1] as Properties);
      return {};
    case 'Release':
      isAdvertised = false;
      return {};
    default:
      return {};
  }
}

/** A part of a long write says where it belongs. */
async function receive(path: string, part: Buffer, options: Properties): Promise<void> {
  const offset = Number(options['offset']?.value ?? 0);
  const value = Buffer.concat([(written.get(path) ?? Buffer.alloc(0)).subarray(0, offset), part]);
  written.set(path, value);
  const central = (options['device']?.value ?? '') as string;
  if (!connectedCentrals.has(central)) connected(central);
  if (fault === 'before_answer' || fault === 'on_connect') return disconnect(fault);
  characteristics.get(path)?.write?.(value);
  await delay(answerMs);
  // A device of the field restarts with what it was told.
  if (path.startsWith(stationService)) void restart(fault === 'after_write' ? 0 : restartMs);
}

async function restart(afterMs: number): Promise<void> {
  await delay(afterMs);
  if (fault === 'after_write') await disconnect(fault);
  else await promisify(execFile)('sh', ['-c', dropLinks]).catch(() => undefined);
}

async function disconnect(at: Fault): Promise<void> {
  fault = null;
  tell({ event: 'disconnects', fault: at });
  await promisify(execFile)('sh', ['-c', dropLinks]).catch(() => undefined);
  // Whatever it answers now, nobody hears it.
  if (at === 'before_answer') throw new Error('disconnected');
}

function connected(central: string): void {
  connectedCentrals.add(central);
  tell({ event: 'connected' });
  fault = drawFault(faults);
  if (fault === 'on_connect') void disconnect(fault);
  if (fault === 'in_discovery') {
    void delay(20 + 600 * faults.random()).then(() => (fault === 'in_discovery' ? disconnect(fault) : undefined));
  }
}

bus.on('message', (message: Message) => {
  if (message.type !== MessageType.SIGNAL) return;
  const { member, body } = message;
  if (member === 'NameOwnerChanged' && body[0] === 'org.bluez') isAppRegistered = isAdvertised = false;
  if (member === 'InterfacesRemoved' && body[0] === adapterPath) isAppRegistered = isAdvertised = false;
  const central = String(member === 'InterfacesAdded' ? body[0] : message.path);
  if (central.startsWith(`${adapterPath}/dev_`)) void look(central);
});

/** BlueZ does not always tell of a connection, so every sign of a central is a reason to ask. */
async function look(central: string): Promise<void> {
  const get = call(central, interfaces.properties, 'Get', 'ss', ['org.bluez.Device1', 'Connected']);
  const isConnected = await get.then(([value]) => (value as Variant).value === true).catch(() => false);
  if (isConnected === connectedCentrals.has(central)) return;
  if (isConnected) connected(central);
  else {
    connectedCentrals.delete(central);
    tell({ event: 'disconnected' });
  }
}

/** Registers what is not registered, again and again. */
async function register(): Promise<void> {
  if (!isAppRegistered) {
    await call(adapterPath, interfaces.properties, 'Set', 'ssv', [
      'org.bluez.Adapter1',
      'Powered',
      new Variant('b', true),
    ]);
    await call(adapterPath, 'org.bluez.GattManager1', 'RegisterApplication', 'oa{sv}', [appPath, {}]);
    isAppRegistered = true;
  }
  if (advertisement !== null && !isAdvertised) {
    const manager = 'org.bluez.LEAdvertisingManager1';
    await call(adapterPath, manager, 'RegisterAdvertisement', 'oa{sv}', [advertisementPath, {}]);
    isAdvertised = true;
    tell({ event: 'advertises', name: advertisement.name });
  }
}

async function endAdvertisement(): Promise<void> {
  const wasAdvertised = isAdvertised;
  isAdvertised = false;
  advertisement = null;
  if (wasAdvertised)
    await call(adapterPath, 'org.bluez.LEAdvertisingManager1', 'UnregisterAdvertisement', 'o', [advertisementPath]);
}

async function obey(order: PeripheralOrder): Promise<void> {
  switch (order.order) {
    case 'advertise':
      await endAdvertisement();
      if (order.advertisement.isImprov === true) improv.reset();
      advertisement = order.advertisement;
      return register();
    case 'end_advertisement':
      await endAdvertisement();
      return tell({ event: 'silent' });
    case 'fail':
      faults = { share: order.share, random: seeded(order.seed) };
      return;
    case 'answer_after':
      answerMs = order.ms;
      return;
    case 'improv_joined':
      return improv.finish(order.isJoined);
  }
}

/** mulberry32. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const rules = [
  `type='signal',sender='org.bluez',interface='${interfaces.properties}',path_namespace='${adapterPath}'`,
  `type='signal',sender='org.bluez',interface='${interfaces.objects}'`,
  `type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='org.bluez'`,
];
for (const rule of rules) {
  const header = {
    destination: 'org.freedesktop.DBus',
    path: '/org/freedesktop/DBus',
    interface: 'org.freedesktop.DBus',
  };
  await bus.call(new Message({ ...header, member: 'AddMatch', signature: 's', body: [rule] }));
}
createServer((socket) => {
  clients.add(socket);
  socket.on('close', () => clients.delete(socket)).on('error', () => undefined);
  createInterface({ input: socket }).on('line', (line) => {
    obey(JSON.parse(line) as PeripheralOrder).catch((error: unknown) =>
      tell({ event: 'trouble', message: String(error) }),
    );
  });
  socket.write(`${JSON.stringify({ event: 'hello' })}\n`);
}).listen(Number(port), '0.0.0.0');
for (;;) {
  await register().catch(() => undefined);
  await delay(500);
}
