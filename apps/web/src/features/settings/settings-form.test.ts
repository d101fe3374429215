import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkWifi, timeIn, zoneGroups } from './settings-form.ts';

test('a network without a password is one only when that is said', () => {
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

test('the time there is told, and nothing of a zone that nobody knows', () => {
  assert.equal(timeIn('Europe/Kyiv', Date.UTC(2026, 0, 1, 12, 5), 'uk'), '14:05');
  assert.equal(timeIn('Moon/Base', 0, 'uk'), null);
});
