import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '@station/kit/clock';
import { openTestStore } from '../../testing/test-store.ts';
import { createDeviceStore } from '../device-store.ts';
import { transitions } from './0027-transitions.ts';

const hour = 3_600_000;

test('samples and hours of booleans become transitions, as far as they tell; numbers stay as they are', async () => {
  await using store = await openTestStore();
  const { db } = store;
  const devices = createDeviceStore({ db, clock: systemClock });
  const { id } = await devices.provision({ externalId: 'x', type: 'pir', name: 'Hall', zoneId: null });
  await db.updateTable('devices').set({ state: '{"motion":true,"battery":1,"mode":"auto"}' }).execute();
  const start = 400_000 * hour;
  const samples = (capability: string) => [
    { device_id: id, capability, at: start + 10, value: 0, later: null },
    { device_id: id, capability, at: start + 20, value: 0, later: '[[5,1],[7,1],[9,0]]' },
    { device_id: id, capability, at: start + 40, value: 1, later: null },
    { device_id: id, capability, at: start + 50, value: 1, later: null },
  ];
  await db
    .insertInto('device_samples')
    .values([...samples('motion'), ...samples('battery')])
    .execute();
  // Without motion, with and without it, then with it; the last hour has samples.
  const hours = [
    [0, 0],
    [0, 0],
    [0, 1],
    [1, 1],
    [0, 1],
  ].map(([lowest = 0, highest = 0], n) => ({
    device_id: id,
    capability: 'motion',
    hour: start + (n - 4) * hour,
    samples: 2,
    total: lowest + highest,
    lowest,
    highest,
  }));
  await db.insertInto('device_hours').values(hours).execute();
  await sql`drop table device_transitions`.execute(db);
  await sql`drop table station_runs`.execute(db);
  await transitions.up(db as never);
  const rows = await db.selectFrom('device_transitions').selectAll().orderBy('at').execute();
  assert.deepEqual(
    rows.map(({ capability, at, value, span }) => [capability, at - start, value, span]),
    [
      ['motion', -4 * hour, 'false', null],
      ['motion', -2 * hour, null, null],
      ['motion', -hour, 'true', null],
      ['motion', 10, 'false', null],
      ['motion', 25, 'true', null],
      ['motion', 29, 'false', null],
      ['motion', 40, 'true', null],
    ],
  );
  assert.equal((await db.selectFrom('device_samples').selectAll().execute()).length, 8, 'for a rollback');
});
