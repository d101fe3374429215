import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zoneHere } from '../../i18n/time-zones.ts';
import { cityOf, offsetOf, otherZoneHere, timeIn, zoneGroups } from './settings-form.ts';

test('every zone stands once, under its part of the world, also one that the browser calls otherwise', () => {
  const groups = zoneGroups('Europe/Zaporozhye', Date.UTC(2026, 0, 1));
  const all = groups.flatMap(({ zones }) => zones.map(({ name }) => name));
  assert.equal(new Set(all).size, all.length);
  assert.ok(all.length > 300);
  const europe = groups.find(({ area }) => area === 'Europe');
  assert.ok(europe?.zones.some(({ city }) => city === 'Zaporozhye'));
  const america = groups.find(({ area }) => area === 'America');
  assert.ok(america?.zones.some(({ city }) => city === 'Argentina, Buenos Aires' || city === 'Buenos Aires'));
  assert.ok(all.includes('UTC'));
  const ukraine = zoneGroups('Europe/Kyiv', 0).flatMap(({ zones }) =>
    zones.filter(({ city }) => /^K[iy]+[ei]?v$/.test(city)),
  );
  assert.deepEqual(
    ukraine.map(({ name }) => name),
    ['Europe/Kyiv'],
  );
});

test('a zone shows its time, an unknown one nothing', () => {
  assert.equal(timeIn('Europe/Kyiv', Date.UTC(2026, 0, 1, 12, 5), 'uk'), '14:05');
  assert.equal(timeIn('Moon/Base', 0, 'uk'), null);
});

test('a zone shows its city and its offset on that day', () => {
  assert.equal(cityOf('America/Argentina/Buenos_Aires'), 'Argentina, Buenos Aires');
  assert.equal(cityOf('UTC'), 'UTC');
  const winter = Date.UTC(2026, 0, 1);
  const summer = Date.UTC(2026, 6, 1);
  assert.equal(offsetOf('Europe/Kyiv', winter), 'UTC+02:00');
  assert.equal(offsetOf('Europe/Kyiv', summer), 'UTC+03:00');
  assert.equal(offsetOf('UTC', winter), 'UTC+00:00');
  assert.equal(offsetOf('Moon/Base', winter), '');
});

test('the zone of the browser is offered when it is another one', () => {
  const here = zoneHere();
  assert.equal(otherZoneHere(here), null);
  assert.equal(otherZoneHere(here === 'Asia/Tokyo' ? 'Europe/Kyiv' : 'Asia/Tokyo'), here);
});
