import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type BrokerAddressFacts, decideBrokerAddress } from './broker-address-decide.ts';

const embedded = { kind: 'embedded', host: '0.0.0.0', port: 1883 } as const;
const loopback = { kind: 'embedded', host: '127.0.0.1', port: 41883 } as const;
const inStack = { kind: 'external', host: 'mqtt', port: 1883 } as const;
const facts: BrokerAddressFacts = {
  configured: { host: null, port: null },
  broker: inStack,
  publicUrl: { host: 'station.local', isSet: false },
  station: null,
  ssid: 'Home',
};
const station = { ssid: 'Home', address: '192.168.1.20' };
const named = { host: 'station.example', isSet: true };
const url = (host: string) => ({ host, isSet: true });

const cases: [string, Partial<BrokerAddressFacts>, string, number?][] = [
  ['nothing is known', {}, 'station.local'],
  ['the agent tells the address', { station }, '192.168.1.20'],
  ['the station is in another network', { station: { ...station, ssid: 'Other' } }, 'station.local'],
  ['the network of the device is not known', { station, ssid: null }, 'station.local'],
  [
    'another machine has the name',
    { publicUrl: url('station.local'), station, mdnsName: 'station-2.local' },
    'station-2.local',
  ],
  ['it had the name', { publicUrl: url('station-2.local'), station, mdnsName: 'station.local' }, 'station.local'],
  ['it has the name', { publicUrl: url('station.local'), station, mdnsName: 'station.local' }, 'station.local'],
  ['a name of its own', { publicUrl: url('house.local'), station, mdnsName: 'station.local' }, 'house.local'],
  [
    'a name ends with a number',
    { publicUrl: url('house-12.local'), station, mdnsName: 'house-12.local' },
    'house-12.local',
  ],
  ['nothing answers to a name', { publicUrl: url('station.local'), station }, '192.168.1.20'],
  ['nothing answers, and no address is known', { publicUrl: url('station.local') }, 'station.local'],
  [
    'a public name needs no mDNS',
    { publicUrl: url('home.example.org'), station, mdnsName: 'x.local' },
    'home.example.org',
  ],
  ['PUBLIC_URL is set', { publicUrl: named, station }, 'station.example'],
  ['PUBLIC_URL is an address', { publicUrl: url('10.0.0.7') }, '10.0.0.7'],
  ['PUBLIC_URL is loopback, the broker is not', { publicUrl: url('127.0.0.1'), station }, '192.168.1.20'],
  ['both are loopback', { broker: loopback, publicUrl: url('127.0.0.1'), station }, '127.0.0.1', 41883],
  ['the broker listens on loopback alone', { broker: loopback }, '127.0.0.1', 41883],
  ['the broker listens on IPv6 loopback alone', { broker: { ...loopback, host: '::1' } }, '::1', 41883],
  ['the embedded broker listens everywhere', { broker: embedded, station }, '192.168.1.20'],
  [
    'another broker has a name',
    { broker: { kind: 'external', host: 'broker.example', port: 8883 }, publicUrl: named },
    'broker.example',
    8883,
  ],
  [
    'another broker has an address and no port',
    { broker: { kind: 'external', host: '192.168.1.9', port: null }, station },
    '192.168.1.9',
    1883,
  ],
  ['another broker has an IPv6 address', { broker: { kind: 'external', host: 'fd00::9', port: 1883 } }, 'fd00::9'],
  ['another broker is on this machine', { broker: { kind: 'external', host: 'localhost', port: 1 } }, 'localhost', 1],
  [
    'the address is configured',
    { configured: { host: 'broker.home', port: 1884 }, publicUrl: named, station },
    'broker.home',
    1884,
  ],
  [
    'another broker, and the port of the compose file',
    { broker: { kind: 'external', host: 'broker.example', port: 8883 }, configured: { host: null, port: 1883 } },
    'broker.example',
    8883,
  ],
  [
    'only the port is configured',
    { configured: { host: null, port: 2883 }, publicUrl: named },
    'station.example',
    2883,
  ],
];

for (const [name, given, host, port = 1883] of cases) {
  test(`the broker's address for devices: ${name}`, () => {
    assert.deepEqual(decideBrokerAddress({ ...facts, ...given }), { host, port });
  });
}
