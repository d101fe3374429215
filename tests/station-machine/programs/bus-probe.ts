/** Tells what a program in the backend's container can reach by D-Bus: one JSON object, call → `answered` or the name of the error. */
import { Variant } from '@jellybrick/dbus-next';
import { systemClock } from '@station/kit/clock';
import { BusError, createBus, type BusCall } from '@station/kit/message-bus';

const calls: Record<string, BusCall> = {
  'read the objects of BlueZ': {
    destination: 'org.bluez',
    path: '/',
    interface: 'org.freedesktop.DBus.ObjectManager',
    member: 'GetManagedObjects',
  },
  'switch the adapter on': {
    destination: 'org.bluez',
    path: '/org/bluez/hci0',
    interface: 'org.freedesktop.DBus.Properties',
    member: 'Set',
    signature: 'ssv',
    body: ['org.bluez.Adapter1', 'Powered', new Variant('b', true)],
  },
  'answer pairing requests': {
    destination: 'org.bluez',
    path: '/org/bluez',
    interface: 'org.bluez.AgentManager1',
    member: 'RegisterAgent',
    signature: 'os',
    body: ['/agent', 'NoInputNoOutput'],
  },
  'list the units of systemd': {
    destination: 'org.freedesktop.systemd1',
    path: '/org/freedesktop/systemd1',
    interface: 'org.freedesktop.systemd1.Manager',
    member: 'ListUnits',
  },
  'ask logind for a reboot': {
    destination: 'org.freedesktop.login1',
    path: '/org/freedesktop/login1',
    interface: 'org.freedesktop.login1.Manager',
    member: 'CanReboot',
  },
  'read every message': {
    destination: 'org.freedesktop.DBus',
    path: '/org/freedesktop/DBus',
    interface: 'org.freedesktop.DBus.Monitoring',
    member: 'BecomeMonitor',
    signature: 'asu',
    body: [[], 0],
  },
};

await using bus = createBus({
  address: process.env['DBUS_SYSTEM_BUS_ADDRESS'] ?? '',
  rules: [],
  clock: systemClock,
  callMs: 5000,
});
const ask = async (call: BusCall): Promise<unknown> => {
  try {
    return await bus.call(call);
  } catch (error) {
    if (error instanceof BusError) return error.errorName;
    throw error;
  }
};
const driver = { destination: 'org.freedesktop.DBus', path: '/org/freedesktop/DBus' };
const names = await ask({ ...driver, interface: 'org.freedesktop.DBus', member: 'ListNames' });
const found = Array.isArray(names) ? (names[0] as string[]).filter((name) => !name.startsWith(':')).sort() : names;
const answers: Record<string, unknown> = {};
for (const [what, call] of Object.entries(calls)) {
  const answer = await ask(call);
  answers[what] = Array.isArray(answer) ? 'answered' : answer;
}
process.stdout.write(`${JSON.stringify({ names: found, answers })}\n`);
