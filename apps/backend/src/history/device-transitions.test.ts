import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { DeviceReport } from '../core/device-events.ts';
import { createEventIds } from '../core/event-ids.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { completeTransitions } from './device-transitions.ts';
import { writeReports } from './report-store.ts';

async function withDevice() {
  const store = await openTestStore();
  const { db } = store;
  const devices = createDeviceStore({ db, clock: systemClock });
  const { id: deviceId } = await devices.provision({ externalId: 'x', type: 'light', name: 'Lamp', zoneId: null });
  const newId = createEventIds(() => 0);
  const state = (at: number, given: Record<string, unknown>): DeviceReport => ({
    kind: 'state',
    deviceId,
    at,
    state: given,
  });
  const status = (at: number, value: 'online' | 'offline'): DeviceReport => ({
    kind: 'status',
    deviceId,
    at,
    status: value,
  });
  const write = (...reports: DeviceReport[]) => writeReports(store, reports, newId);
  const rows = async () => {
    const read = await db.selectFrom('device_transitions').selectAll().orderBy('at').orderBy('capability').execute();
    return read.map(({ capability, at, value }) => `${at} ${capability || 'status'} ${value}`);
  };
  return { store, db, state, status, write, rows, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

test('a value has a transition when it is first reported and when it changes, not with every report', async () => {
  await using all = await withDevice();
  const { state } = all;
  await all.write(
    state(10_000, { on: false, mode: 'auto', t: 20 }),
    state(20_000, { on: false, t: 21 }),
    state(30_000, { on: true }),
  );
  await all.write(state(40_000, { on: true, mode: 'auto' }), state(50_000, { on: false }), state(50_000, { on: true }));
  await all.write(state(60_000, { mode: 'manual' }));
  assert.deepEqual(await all.rows(), [
    '10000 mode "auto"',
    '10000 on false',
    '30000 on true',
    '50000 on true',
    '60000 mode "manual"',
  ]);
});

test('a value that is no boolean or short text any more is not known', async () => {
  await using all = await withDevice();
  const { state } = all;
  await all.write(state(10_000, { a: true, b: 'x', c: 'y'.repeat(65), d: { e: 1 }, constructor: 'own' }));
  await all.write(
    state(20_000, { a: 5, b: 'y'.repeat(65), c: 'z'.repeat(99) }),
    state(30_000, { a: 6 }),
    state(40_000, { a: false }),
  );
  assert.deepEqual(await all.rows(), [
    '10000 a true',
    '10000 b "x"',
    '10000 constructor "own"',
    '20000 a null',
    '20000 b null',
    '40000 a false',
  ]);
});

test('the status has a transition when it changes, also within a batch', async () => {
  await using all = await withDevice();
  const { status } = all;
  await all.write(status(10_000, 'online'), status(20_000, 'online'));
  await all.write(status(30_000, 'online'), status(40_000, 'offline'), status(50_000, 'online'));
  await all.write(status(60_000, 'offline'));
  await all.write(status(70_000, 'offline'));
  assert.deepEqual(await all.rows(), [
    '10000 status "online"',
    '40000 status "offline"',
    '50000 status "online"',
    '60000 status "offline"',
  ]);
});

test('what an older release changed meanwhile gets its transition at the next start, once', async () => {
  await using all = await withDevice();
  await all.write(
    all.status(10_000, 'online'),
    all.state(10_000, { on: false, mode: 'auto', t: 1 }),
    all.state(15_000, { t: 2 }),
  );
  const before = await all.rows();
  await completeTransitions(all.store);
  assert.deepEqual(await all.rows(), before, 'nothing is missing');
  const changed = {
    state: '{"on":true,"mode":"auto","new":"x","t":3}',
    state_at: 90_000,
    value_times: '{"mode":80000}',
  };
  await all.db
    .updateTable('devices')
    .set({ ...changed, status: 'offline', status_at: 95_000 })
    .execute();
  await completeTransitions(all.store);
  await completeTransitions(all.store);
  assert.deepEqual(await all.rows(), [...before, '90000 new "x"', '90000 on true', '95000 status "offline"']);
  // The clock was set back: what holds comes last all the same.
  await all.db.updateTable('devices').set({ state: '{"on":false}', state_at: 20_000, value_times: null }).execute();
  await completeTransitions(all.store);
  assert.equal((await all.rows())[5], '90001 on false');
});

test('changes that follow each other fast share a row at the end of a second, and of ten seconds over the rate', async () => {
  await using all = await withDevice();
  const { state } = all;
  const flip = async (...reports: (readonly [at: number, on: boolean])[]) =>
    all.write(...reports.map(([at, on]) => state(at, { on })));
  await flip([20_100, true]);
  await flip([20_300, false], [20_400, true]);
  await flip([20_500, false], [20_990, true]);
  await flip([21_200, false]);
  await flip([21_300, true], [25_000, false]);
  assert.deepEqual(await all.rows(), ['20100 on true', '20999 on true', '21999 on true', '25000 on false']);
  for (let n = 0; n < 40; n++) {
    const report = state(30_000 + n * 300, { on: n % 2 === 0 });
    await all.write(n < 35 ? ({ ...report, isOverRate: true } as DeviceReport) : report);
  }
  await all.write(state(42_000, { on: true }), state(55_000, { on: false }));
  assert.deepEqual((await all.rows()).slice(4), ['39999 on false', '49999 on true', '55000 on false']);
});
