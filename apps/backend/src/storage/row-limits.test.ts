import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { openTestStore } from '../../testing/test-store.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { rowLimits, trimRows } from './row-limits.ts';

const most = 5;
const limits = rowLimits.map((limit) => ({ ...limit, most }));

async function withRows(count: number) {
  const store = await openTestStore();
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const { id: device_id } = await devices.provision({ externalId: 'a', type: 'light', name: 'A', zoneId: null });
  const numbers = Array.from({ length: count }, (_, n) => n);
  const ids = numbers.map(() => randomUUIDv7()).sort();
  const command = { device_id, action: 'on', user_id: null, reason: null, expires_at: 1, confirmation: null };
  await store.db
    .insertInto('device_commands')
    .values(
      numbers.map((n) => ({ ...command, id: `c${n}`, status: n === 0 ? ('pending' as const) : 'confirmed', at: n })),
    )
    .execute();
  const told = { automation_id: 'x', automation_name: 'X', run_id: 'r', message: 'm', is_forwarded: 1 };
  await store.db
    .insertInto('notifications')
    .values(numbers.map((n) => ({ ...told, id: ids[n]!, at: n })))
    .execute();
  const automation = { id: 'x', name: 'X', mode: 'single', flow: '{}', revision: 0, created_at: 1 } as const;
  const unpublished = { published_mode: null, published_flow: null, published_at: null };
  await store.db
    .insertInto('automations')
    .values({ ...automation, ...unpublished, updated_at: 1 })
    .execute();
  const run = { automation_id: 'x', status: 'completed', reason: null, trigger: '{}', flow: '{}' } as const;
  await store.db
    .insertInto('automation_runs')
    .values(
      numbers.map((n) => {
        const times = { wake_at: null, started_at: n, ended_at: n === 3 ? null : n };
        return { ...run, ...times, id: ids[n]!, cause: `${n}`, owner: null, lease_until: null };
      }),
    )
    .execute();
  await store.db
    .insertInto('station_runs')
    .values(numbers.map((n) => ({ id: `r${n}`, started_at: n, alive_at: n + 1 })))
    .execute();
  const image = { type: 'light', version: '1.0.1', file: 'f', path: null, checksum: 'sha256:0', size: 1 };
  await store.db
    .insertInto('firmware_images')
    .values({ ...image, chip: null, min_version: null, ready_at: 1 })
    .execute();
  const rollout = { type: 'light', settings: '{}', wave: 0, reason: null, requested_by: null, ended_at: 1 };
  await store.db
    .insertInto('firmware_rollouts')
    .values(
      numbers.map((n) => {
        const state = n === 2 ? ('paused' as const) : 'done';
        return { ...rollout, id: ids[n]!, version: `1.0.${n}`, state, created_at: n };
      }),
    )
    .execute();
  const left = async () => {
    const { db } = store;
    const tables = [
      await db.selectFrom('device_commands').select('at').orderBy('at').execute(),
      await db.selectFrom('notifications').select('at').orderBy('at').execute(),
      await db.selectFrom('station_runs').select('started_at as at').orderBy('started_at').execute(),
      await db.selectFrom('automation_runs').select('started_at as at').orderBy('id').execute(),
      await db.selectFrom('firmware_rollouts').select('created_at as at').orderBy('id').execute(),
    ];
    return tables.map((rows) => rows.map(({ at }) => at));
  };
  return { store, left, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

test('the oldest rows go; pending commands, open runs, open rollouts and those of present firmware stay', async () => {
  await using all = await withRows(12);
  await trimRows(all.store, Infinity, limits);
  const newest = [7, 8, 9, 10, 11];
  const expected = [[0, ...newest], newest, newest, [3, ...newest], [1, 2, ...newest]];
  assert.deepEqual(await all.left(), expected);
  await trimRows(all.store, Infinity, limits);
  assert.deepEqual(await all.left(), expected);
});

test('nothing goes up to the limit', async () => {
  await using all = await withRows(most);
  const before = await all.left();
  await trimRows(all.store, Infinity, limits);
  assert.deepEqual(await all.left(), before);
});

test('many rows over the limit are deleted in blocks', async () => {
  await using all = await withRows(12);
  const rows = Array.from({ length: 4_500 }, (_, n) => ({ id: `more ${n}`, started_at: n, alive_at: 100 + n }));
  for (let n = 0; n < rows.length; n += 500) {
    await all.store.db
      .insertInto('station_runs')
      .values(rows.slice(n, n + 500))
      .execute();
  }
  await trimRows(all.store, Infinity, limits);
  assert.deepEqual((await all.left())[2], [4_495, 4_496, 4_497, 4_498, 4_499]);
});

test('runs with large flows go by their size, the oldest first; open ones stay', async () => {
  await using all = await withRows(12);
  const flow = 'ї'.repeat(5_000);
  await all.store.db.updateTable('automation_runs').set({ flow }).where('started_at', '<', 10).execute();
  // Two small ones and three large ones, each with its steps.
  await trimRows(all.store, 70_000);
  assert.deepEqual((await all.left())[3], [3, 7, 8, 9, 10, 11]);
  await trimRows(all.store, 70_000);
  assert.deepEqual((await all.left())[3], [3, 7, 8, 9, 10, 11]);
});
