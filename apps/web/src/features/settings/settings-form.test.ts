import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timeIn, zoneGroups } from './settings-form.ts';

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
