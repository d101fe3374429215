import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkWifi, timeIn, zoneGroups } from './settings-form.ts';

test('a network has no password only when that was chosen', () => {
  const cases: [ssid: string, password: string, isOpen: boolean, faults: ReturnType<typeof checkWifi>][] = [
    ['Cabin', 'under the doormat', false, { ssid: null, password: null }],
    ['Cabin', '', false, { ssid: null, password: 'missing' }],
    ['Cabin', '', true, { ssid: null, password: null }],
    ['Cabin', 'seven77', false, { ssid: null, password: 'short' }],
    ['', '', false, { ssid: 'required', password: 'missing' }],
  ];
  for (const [ssid, password, isOpen, faults] of cases) assert.deepEqual(checkWifi({ ssid, password }, isOpen), faults);
});

test('every zone stands once, under its part of the world, also one that the browser calls otherwise', () => {
  const groups = zoneGroups('Europe/Zaporozhye');
  const all = groups.flatMap(({ zones }) => zones.map(({ name }) => name));
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.length > 300);
  const europe = groups.find(({ area }) => area === 'Europe');
  assert.ok(europe?.zones.some(({ city }) => city === 'Zaporozhye'));
  const america = groups.find(({ area }) => area === 'America');
  assert.ok(america?.zones.some(({ city }) => city === 'Argentina, Buenos Aires' || city === 'Buenos Aires'));
  assert.ok(all.includes('UTC'));
});

test('a zone shows its time, an unknown one nothing', () => {
  assert.equal(timeIn('Europe/Kyiv', Date.UTC(2026, 0, 1, 12, 5), 'uk'), '14:05');
  assert.equal(timeIn('Moon/Base', 0, 'uk'), null);
});
