import assert from 'node:assert/strict';
import { test } from 'node:test';
import { updateReportsOf } from './update-reports-decide.ts';

const reported = (data: Readonly<Record<string, unknown>>) => {
  const report = { kind: 'event', deviceId: 'a', at: 7, eventKind: 'device_event', data } as const;
  return updateReportsOf({ kind: 'reports', reports: [report] }).map(([, { at: _at, ...rest }]) => rest);
};

test('the progress of an update may be a number or the text of one', () => {
  for (const [sent, percent] of [
    [45, 45],
    ['45', 45],
    ['45.6', 46],
    [' 100\r\n', 100],
    ['-1', 0],
    ['250', 100],
    ['half', null],
    ['', null],
    [null, null],
    [true, null],
    [undefined, null],
  ] as const)
    assert.deepEqual(
      reported({ action: 'ota_progress', percent: sent }),
      percent === null ? [] : [{ kind: 'progress', percent }],
      JSON.stringify(sent),
    );
});

test('the reason of a failure may be the number of an error', () => {
  for (const [sent, reason] of [
    ['no space', 'no space'],
    [-5, '-5'],
    ['', 'The device gave no reason.'],
    [{ code: 5 }, 'The device gave no reason.'],
    ['x'.repeat(300), 'x'.repeat(200)],
  ] as const)
    assert.deepEqual(reported({ action: 'ota_failed', reason: sent }), [{ kind: 'error', reason }]);
});
