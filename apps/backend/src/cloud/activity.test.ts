import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Type } from 'typebox';
import { systemClock } from '@station/kit/clock';
import { createActivityRecord, noteCalls } from './activity.ts';
import { RpcError } from './rpc-server.ts';

const open = () => {
  let changes = 0;
  const record = createActivityRecord({ clock: systemClock, onChange: () => void (changes += 1) });
  return { record, changes: () => changes };
};

test('repeated requests are one line with a count; another request begins a new line', () => {
  const { record, changes } = open();
  for (let n = 0; n < 3; n += 1) record.note('devices.snapshot', 'done');
  record.note('devices.snapshot', 'failed');
  record.note('device.command', 'done', { deviceId: 'lamp', action: 'toggle' });
  record.note('device.command', 'done', { deviceId: 'lamp', action: 'reboot' });
  assert.deepEqual(
    record.latest().map(({ request, outcome, action, times }) => [request, outcome, action, times]),
    [
      ['device.command', 'done', 'reboot', 1],
      ['device.command', 'done', 'toggle', 1],
      ['devices.snapshot', 'failed', null, 1],
      ['devices.snapshot', 'done', null, 3],
    ],
  );
  assert.equal(changes(), 6);
});

test('only the latest entries are kept', () => {
  const { record } = open();
  for (let n = 0; n < 200; n += 1) record.note('device.command', 'done', { deviceId: String(n), action: 'toggle' });
  assert.equal(record.latest().length, 50);
  assert.equal(record.latest()[0]?.deviceId, '199');
});

test('a call is recorded with its outcome, and its answer is unchanged', async () => {
  const { record } = open();
  let failure: Error | null = null;
  const run = async (): Promise<unknown> => {
    if (failure) throw failure;
    return 'answer';
  };
  const methods = noteCalls({ 'device.command': { params: Type.Object({}), run } }, record);
  const call = () =>
    methods['device.command'].run({ deviceId: 'lamp', command: { action: 'toggle' } } as never, 1, 'a');
  assert.equal(await call(), 'answer');
  failure = new RpcError(-32005, 'offline');
  await assert.rejects(call(), failure);
  failure = new Error('something else');
  await assert.rejects(call(), failure);
  assert.deepEqual(
    record.latest().map(({ outcome, deviceId, action }) => [outcome, deviceId, action]),
    [
      ['failed', 'lamp', 'toggle'],
      ['refused', 'lamp', 'toggle'],
      ['done', 'lamp', 'toggle'],
    ],
  );
});
