import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createDeviceDirectory } from './device-directory.ts';
import { createDeviceEvents } from '../core/device-events.ts';
import type { DeviceRow } from '../store/device-store.ts';

type Question = { externalId: string; answer: (type: string | null) => void; fail: () => void };

function directoryWith() {
  const questions: Question[] = [];
  const events = createDeviceEvents(recordedLog());
  const clock = manualClock();
  const findByExternalId = (externalId: string): Promise<DeviceRow | null> =>
    new Promise((resolve, reject) => {
      const answer = (type: string | null): void =>
        resolve(type === null ? null : ({ id: externalId, type } as DeviceRow));
      questions.push({ externalId, answer, fail: () => reject(new Error('away')) });
    });
  const directory = createDeviceDirectory({ devices: { findByExternalId }, events, clock });
  return { directory, events, clock, questions, [Symbol.dispose]: () => directory[Symbol.dispose]() };
}

test('concurrent lookups of a device share one query, and are answered in order', async () => {
  using all = directoryWith();
  const order: number[] = [];
  const asking = Array.from({ length: 1_000 }, async (_, n) => {
    const device = await all.directory.find('a');
    order.push(n);
    return device?.type;
  });
  assert.equal(all.questions.length, 1);
  all.questions[0]?.answer('light');
  assert.deepEqual(new Set(await Promise.all(asking)), new Set(['light']));
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
  assert.deepEqual(all.directory.find('a'), { id: 'a', externalId: 'a', type: 'light' }, 'at once');
  all.clock.advance(5_000);
  void all.directory.find('a');
  assert.equal(all.questions.length, 2, 'asked anew after a while');
});

test('a lookup from before a device was removed or added is not used afterwards', async () => {
  using all = directoryWith();
  const before = all.directory.find('a');
  all.events.emit({ kind: 'added', deviceId: 'a', externalId: 'a' });
  const after = all.directory.find('a');
  assert.equal(all.questions.length, 2);
  all.questions[1]?.answer('pir');
  assert.equal((await after)?.type, 'pir');
  all.questions[0]?.answer(null);
  assert.equal(await before, null);
  assert.deepEqual(all.directory.find('a'), { id: 'a', externalId: 'a', type: 'pir' });
});

test('a failed query is repeated by the next lookup, and no device counts as unknown', async () => {
  using all = directoryWith();
  const failing = assert.rejects(async () => all.directory.find('a'), /away/);
  all.questions[0]?.fail();
  await failing;
  const again = all.directory.find('a');
  all.questions[1]?.answer('light');
  assert.equal((await again)?.type, 'light');
});
