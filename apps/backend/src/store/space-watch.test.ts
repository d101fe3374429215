import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createBackendConditions } from '../core/conditions.ts';
import type { DiskSpace } from '../core/space.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { until } from '../../testing/until.ts';
import { startSpaceWatch } from './space-watch.ts';

const mebibyte = 1024 * 1024;

test('a disk that other files fill is named so, history is asked to give way, and it settles when there is space', async () => {
  const space: DiskSpace = { freeBytes: 500 * mebibyte, totalBytes: 1024 * mebibyte };
  const clock = { sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(1, signal) };
  const logger = recordedLog();
  const conditions = createBackendConditions({ clock: systemClock, logger, onChanged: () => undefined });
  await using watch = startSpaceWatch({ readSpace: () => Promise.resolve({ ...space }), conditions, clock, logger });
  const asked: number[] = [];
  let settled = 0;
  const tenant = {
    usedBytes: () => 64 * mebibyte,
    relieve: (missingBytes: number) => Promise.resolve(void asked.push(missingBytes / mebibyte)),
    settle: () => Promise.resolve(void (settled += 1)),
  };
  const shown = (): Record<string, unknown>[] => conditions.list().map(({ id, details }) => ({ id, ...details }));
  {
    using _watched = watch.onPressure(tenant);
    await until('it settles', () => settled > 0);
    assert.deepEqual([shown(), asked], [[], []]);
    space.freeBytes = 20 * mebibyte;
    await until('history is asked', () => asked.length > 0);
    assert.ok(asked.every((missing) => missing > 5 && missing < 6));
    const details = { freeMb: 20, databaseMb: 60, otherMb: 940, filledBy: 'other' };
    assert.deepEqual(shown(), [{ id: 'storage_low', ...details }]);
    // Between both limits nothing happens.
    space.freeBytes = 55 * mebibyte;
    await until('less is free', () => shown()[0]?.['freeMb'] === 50);
    const before = [asked.length, settled];
    await systemClock.sleep(20);
    assert.deepEqual([asked.length, settled], before);
    space.freeBytes = 70 * mebibyte;
    await until('the warning ends', () => shown().length === 0 && settled > before[1]!);
  }
  const before = settled;
  await systemClock.sleep(20);
  assert.equal(settled, before);
});
