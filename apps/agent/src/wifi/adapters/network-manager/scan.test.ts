import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Security } from '@station/protocol/wifi-password';
import { accessPointsOf, securityOf } from './scan.ts';
import { interfaces, treeOf, wifiDeviceOf } from './objects.ts';

/** Flags as NetworkManager 1.42 gives them for hostapd and real routers. */
const rows: [what: string, flags: number, wpa: number, rsn: number, is: Security][] = [
  ['open', 0, 0, 0, 'open'],
  ['WEP', 1, 0, 0, 'wep'],
  ['WPA of old', 1, 0x144, 0, 'wpa2'],
  ['WPA2', 1, 0, 0x188, 'wpa2'],
  ['WPA and WPA2', 1, 0x144, 0x188, 'wpa2'],
  ['WPA3', 1, 0, 0x488, 'wpa3'],
  ['WPA2 and WPA3', 1, 0, 0x588, 'wpa2-wpa3'],
  ['802.1X', 1, 0, 0x288, 'enterprise'],
  ['802.1X, Suite B', 1, 0, 0x2088, 'enterprise'],
  ['a key or 802.1X', 1, 0, 0x388, 'wpa2'],
  ['OWE', 1, 0, 0x888, 'owe'],
  ['open with OWE beside it', 0, 0, 0x1000, 'open'],
];
for (const [what, flags, wpa, rsn, is] of rows)
  test(`${what} is ${is}`, () => assert.equal(securityOf(flags, wpa, rsn), is));

test('left out: hidden names, ourselves, and what the last scan did not meet; strongest first', () => {
  const device = '/d';
  const point = (ssid: string, strength: number, more: object = {}): object => ({
    [interfaces.accessPoint]: {
      Ssid: Buffer.from(ssid),
      Strength: strength,
      Flags: 0,
      WpaFlags: 0,
      RsnFlags: 0,
      HwAddress: '02:00:00:00:00:01',
      LastSeen: 995,
      ...more,
    },
  });
  const tree = treeOf({
    [device]: {
      [interfaces.device]: { DeviceType: 2, Interface: 'wlan0', Managed: true },
      [interfaces.wireless]: {
        HwAddress: '02:AA:00:00:00:01',
        LastScan: 1_000_000,
        AccessPoints: ['/weak', '/strong', '/empty', '/zeros', '/own', '/stale', '/gone', '/noTime'],
      },
    },
    '/weak': point('weak', 10),
    '/strong': point('strong', 90),
    '/empty': point('', 50),
    '/zeros': point('\0\0\0', 50),
    '/own': point('Station-1234', 100, { HwAddress: '02:aa:00:00:00:01' }),
    '/stale': point('stale', 50, { LastSeen: 900 }),
    '/noTime': point('no time', 40, { LastSeen: -1 }),
  });
  const wifi = wifiDeviceOf(tree, null);
  assert.ok(wifi);
  assert.deepEqual(
    accessPointsOf(tree, wifi).map(({ path }) => path),
    ['/strong', '/noTime', '/weak'],
  );
});
