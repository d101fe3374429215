import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceReport } from '../core/device-events.ts';
import { sampleRows } from './device-samples.ts';

const state = (at: number, given: Readonly<Record<string, unknown>>, deviceId = 'a'): DeviceReport => ({
  kind: 'state',
  deviceId,
  at,
  state: given,
});

test('values of one second share a row, in order of arrival; the next second has its own row', () => {
  const rows = sampleRows([
    state(5_990, { t: 1, h: 40 }),
    state(5_995, { t: 2 }, 'b'),
    state(5_995, { t: 3 }),
    state(5_999, { t: 4 }),
    state(6_000, { t: 5 }),
  ]);
  assert.deepEqual(rows, [
    {
      deviceId: 'a',
      capability: 't',
      at: 5_990,
      value: 1,
      later: [
        [5, 3],
        [9, 4],
      ],
    },
    { deviceId: 'a', capability: 'h', at: 5_990, value: 40 },
    { deviceId: 'b', capability: 't', at: 5_995, value: 2 },
    { deviceId: 'a', capability: 't', at: 6_000, value: 5 },
  ]);
});

test('of two values in one millisecond the later one is kept', () => {
  const reports = [state(10, { t: 1 }), state(10, { t: 2 }), state(12, { t: 3 }), state(12, { t: 4 })];
  assert.deepEqual(sampleRows(reports), [{ deviceId: 'a', capability: 't', at: 10, value: 2, later: [[2, 4]] }]);
});

test('a clock that was set back does not cause two rows with one key', () => {
  const rows = sampleRows([5_500, 4_900, 5_400, 5_500].map((at) => state(at, { t: at })));
  assert.deepEqual(
    rows.map(({ at, later }) => [at, later]),
    [
      [
        5_500,
        [
          [-100, 5_400],
          [0, 5_500],
        ],
      ],
      [4_900, undefined],
    ],
  );
});

test('only finite numbers are samples', () => {
  const rows = sampleRows([state(1, { t: 1.5, on: true, colour: 'red', nothing: null, far: Infinity })]);
  assert.deepEqual(rows, [{ deviceId: 'a', capability: 't', at: 1, value: 1.5 }]);
});
