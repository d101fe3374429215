import assert from 'node:assert/strict';
import { test } from 'node:test';
import { knownZones, zoneHere, zoneToday } from './time-zones.ts';
import { cities } from '../features/settings/cities.ts';

test('every zone has the name that its city has today', () => {
  assert.equal(zoneToday('Europe/Kiev'), 'Europe/Kyiv');
  assert.equal(zoneToday('constructor'), 'constructor');
  const today = new Set(cities.map(({ zone }) => zone));
  assert.deepEqual(
    knownZones().filter((zone) => !today.has(zone)),
    [],
  );
  assert.ok(today.has(zoneHere()) || !zoneHere().includes('/'));
});
