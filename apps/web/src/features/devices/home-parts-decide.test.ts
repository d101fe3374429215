import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '@station/protocol/devices';
import { partsOf } from './home-parts-decide.ts';

const device = (id: string, zoneId: string | null): Device => ({ id, zoneId }) as Device;
const zones = ['hall', 'attic', 'empty'].map((id) => ({ id, name: id }));
const devices = [
  device('a', 'hall'),
  device('b', 'attic'),
  device('c', null),
  device('d', 'hall'),
  device('e', 'gone'),
];
const told = (favourites: readonly string[], withEmpty = false): string[] =>
  partsOf(devices, zones, favourites, withEmpty).map(
    ({ kind, zone, devices: shown, all }) =>
      `${zone?.id ?? kind}: ${shown.map(({ id }) => id).join(' ')} of ${all.length}`,
  );

for (const [what, actual, expected] of [
  ['zones in their order, the rest last', told([]), ['hall: a d of 2', 'attic: b of 1', 'others: c e of 2']],
  [
    'zones without a device too',
    told([], true),
    ['hall: a d of 2', 'attic: b of 1', 'empty:  of 0', 'others: c e of 2'],
  ],
  [
    'favourites first, in their own order, and not again',
    told(['c', 'a']),
    ['favourites: c a of 2', 'hall: d of 2', 'attic: b of 1', 'others: e of 1'],
  ],
  [
    'a zone of favourites alone, because of its "all off"',
    told(['b']),
    ['favourites: b of 1', 'hall: a d of 2', 'attic:  of 1', 'others: c e of 2'],
  ],
  ['no favourites that are gone', told(['x']), ['hall: a d of 2', 'attic: b of 1', 'others: c e of 2']],
] as const) {
  test(`home shows ${what}`, () => assert.deepEqual(actual, expected));
}
