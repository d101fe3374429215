import assert from 'node:assert/strict';
import { test } from 'node:test';
import { wifiCode } from './wifi-code.ts';

test('a phone reads the hotspot from the code, whatever its name and password contain', () => {
  assert.equal(wifiCode({ ssid: 'Station-9c3d', password: 'KPWM2345XY' }), 'WIFI:T:WPA;S:Station-9c3d;P:KPWM2345XY;;');
  assert.equal(wifiCode({ ssid: 'a;b', password: 'x\\"y:z,1' }), 'WIFI:T:WPA;S:a\\;b;P:x\\\\\\"y\\:z\\,1;;');
  assert.equal(wifiCode({ ssid: 'Open', password: null }), 'WIFI:S:Open;;');
});
