/**
 * Stands in for bluetoothd in the station machine, whose kernel has no Bluetooth: owns `org.bluez` on the machine's system bus, with one
 * adapter and, while somebody scans, one device that waits to be set up.
 */
import { once } from 'node:events';
import { Message, sessionBus, Variant } from '@jellybrick/dbus-next';
import { systemBusAddress } from '@station/kit/message-bus';
import { provisioningServiceUuid } from '@station/protocol/ble-frames';

type Values = Record<string, Variant>;

const adapterPath = '/org/bluez/hci0';
const devicePath = `${adapterPath}/dev_02_00_00_00_00_07`;
const text = (value: string): Variant => new Variant('s', value);
const flag = (value: boolean): Variant => new Variant('b', value);

const adapter: Values = {
  Address: text('02:00:00:00:00:01'),
  AddressType: text('public'),
  Name: text('stand-in'),
  Alias: text('stand-in'),
  Class: new Variant('u', 0),
  Powered: flag(true),
  PowerState: text('on'),
  Discoverable: flag(false),
  Pairable: flag(false),
  Discovering: flag(false),
  UUIDs: new Variant('as', []),
  Roles: new Variant('as', ['central']),
  Modalias: text('usb:v1D6Bp0246d0542'),
};
const device: Values = {
  Address: text('02:00:00:00:00:07'),
  AddressType: text('public'),
  Name: text('SH_light_0007'),
  Alias: text('SH_light_0007'),
  Adapter: new Variant('o', adapterPath),
  Paired: flag(false),
  Connected: flag(false),
  ServicesResolved: flag(false),
  UUIDs: new Variant('as', [provisioningServiceUuid]),
  RSSI: new Variant('n', -60),
};

const bus = sessionBus({ busAddress: systemBusAddress, authMethods: ['EXTERNAL'] });
await once(bus, 'connect');
bus.on('error', (error: unknown) => {
  throw error;
});

const scanners = new Set<string>();
const signal = (path: string, name: string, member: string, signature: string, body: unknown[]): void =>
  bus.send(new Message({ type: 4, path, interface: name, member, signature, body }));
const advertise = (): void => {
  device['RSSI'] = new Variant('n', -60 - Math.floor(Math.random() * 10));
  const changed = [{ RSSI: device['RSSI'] }];
  signal(devicePath, 'org.freedesktop.DBus.Properties', 'PropertiesChanged', 'sa{sv}as', [
    'org.bluez.Device1',
    ...changed,
    [],
  ]);
};

type Reply = [signature: string, body: unknown[]];
const methods: Record<string, (message: Message) => Reply> = {
  GetManagedObjects: () => {
    const objects = { [adapterPath]: { 'org.bluez.Adapter1': adapter } };
    const seen = scanners.size > 0 ? { [devicePath]: { 'org.bluez.Device1': device } } : {};
    return ['a{oa{sa{sv}}}', [{ ...objects, ...seen }]];
  },
  Set: () => ['', []],
  SetDiscoveryFilter: () => ['', []],
  StartDiscovery: ({ sender }) => {
    scanners.add(sender ?? '');
    setImmediate(() =>
      signal('/', 'org.freedesktop.DBus.ObjectManager', 'InterfacesAdded', 'oa{sa{sv}}', [
        devicePath,
        { 'org.bluez.Device1': device },
      ]),
    );
    return ['', []];
  },
  StopDiscovery: ({ sender }) => {
    scanners.delete(sender ?? '');
    return ['', []];
  },
  // Not for a station: the proxy must not let it through.
  RegisterAgent: () => ['', []],
};

bus.addMethodHandler((message: Message) => {
  const method = methods[message.member];
  if (method === undefined) return false;
  bus.send(Message.newMethodReturn(message, ...method(message)));
  return true;
});
await bus.requestName('org.bluez');
setInterval(() => scanners.size > 0 && advertise(), 300);
process.stdout.write('ready\n');
