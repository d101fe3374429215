import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cities } from './cities.ts';
import { degreesOf, rounded } from './place-form.ts';

test('degrees are read with a point or a comma, within their limits', () => {
  const rows: [string, 90 | 180, number | null][] = [
    ['50.45', 90, 50.45],
    [' -0,5 ', 90, -0.5],
    ['\u221236.85', 90, -36.85],
    ['90', 90, 90],
    ['90.01', 90, null],
    ['174.76', 180, 174.76],
    ['181', 180, null],
    ['', 90, null],
    ['50°27′', 90, null],
    ['1e2', 180, null],
  ];
  for (const [text, most, expected] of rows) assert.equal(degreesOf(text, most), expected, text);
});

test('a place is kept to about a kilometre', () => {
  assert.deepEqual(rounded({ latitude: 50.450123, longitude: -30.5249 }), { latitude: 50.45, longitude: -30.52 });
});

test('every city has a time zone that the browser knows, and lies on the earth', () => {
  assert.ok(cities.length > 400);
  for (const { zone, latitude, longitude } of cities) {
    assert.ok(new Intl.DateTimeFormat('en', { timeZone: zone }), zone);
    assert.ok(Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180, zone);
  }
  const kyiv = cities.find(({ zone }) => zone === 'Europe/Kyiv');
  assert.deepEqual(kyiv, { zone: 'Europe/Kyiv', latitude: 50.43, longitude: 30.52 });
});
