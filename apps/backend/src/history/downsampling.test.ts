import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type KyselyPlugin, sql } from 'kysely';
import { manualClock } from '../../testing/manual-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import type { DeviceReport } from '../core/device-events.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createEventIds } from '../core/event-ids.ts';
import { createHistoryStore, samplesKeptMs } from './history-store.ts';
import { writeReports } from './report-store.ts';
import { rowsAtOnce } from './history-rows.ts';
import { hourMs } from './history-decide.ts';

const capabilities = ['humidity', 'temperature'];

async function withSamples(hours: number) {
  const store = await openTestStore();
  const clock = manualClock();
  const start = clock.now() - (clock.now() % hourMs);
  const devices = createDeviceStore({ db: store.db, clock });
  const reports: DeviceReport[] = [];
  for (const externalId of ['a', 'b', 'c']) {
    const { id: deviceId } = await devices.provision({ externalId, type: 'climate', name: 'Hall', zoneId: null });
    for (let n = 0; n < hours * 60; n++) {
      // Two within a second, so that they share a row; the second hour has none.
      for (const at of [start + n * 60_000, start + n * 60_000 + 400]) {
        const state = Object.fromEntries(capabilities.map((capability, index) => [capability, at % (97 + index)]));
        if (Math.floor(n / 60) !== 1) reports.push({ kind: 'state', deviceId, at, state });
      }
    }
  }
  await writeReports(store, reports, createEventIds(clock.now));
  /** Rows that each statement wrote. */
  const written: number[] = [];
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      const deleted = result.rows.filter((row) => 'bytes' in row).length;
      written.push(deleted > 0 ? deleted : Number(result.numAffectedRows ?? 0));
      return result;
    },
  };
  const history = createHistoryStore({ store: { ...store, db: store.db.withPlugin(counting) }, clock });
  const read = async () => {
    const hours = store.db.selectFrom('device_hours').selectAll();
    const rows = await hours.orderBy('hour').orderBy('device_id').orderBy('capability').execute();
    return rows.map((row) => ({ ...row }));
  };
  return { store, clock, reports, written, history, read, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

/** The aggregates of all samples, computed by the test. */
function hoursOf(reports: readonly DeviceReport[], before: number) {
  const groups = new Map<string, { device_id: string; capability: string; hour: number; values: number[] }>();
  for (const report of reports) {
    if (report.kind !== 'state' || report.at >= before) continue;
    const hour = report.at - (report.at % hourMs);
    for (const [capability, value] of Object.entries(report.state)) {
      const key = `${hour} ${report.deviceId} ${capability}`;
      const group = groups.get(key) ?? { device_id: report.deviceId, capability, hour, values: [] };
      groups.set(key, group);
      group.values.push(Number(value));
    }
  }
  const sorted = [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.map(([, { values, ...group }]) => {
    const total = values.reduce((sum, value) => sum + value, 0);
    return { ...group, samples: values.length, total, lowest: Math.min(...values), highest: Math.max(...values) };
  });
}

test('hours are aggregated one value at a time, with a turn between; together they match all samples', async () => {
  await using all = await withSamples(4);
  all.clock.advance(3 * hourMs);
  let turns = 0;
  let isDone = false;
  const count = (): void => {
    turns += 1;
    if (!isDone) setImmediate(count);
  };
  setImmediate(count);
  await all.history.downsample();
  isDone = true;
  const expected = hoursOf(all.reports, all.clock.now() - (all.clock.now() % hourMs));
  assert.equal(expected.length, 3 * 2 * capabilities.length);
  assert.deepEqual(await all.read(), expected);
  assert.equal(Math.max(...all.written), 1);
  assert.ok(turns >= expected.length, `${turns} turns`);
});

test('after an interruption the next run does the rest, and nothing is deleted before', async () => {
  await using all = await withSamples(3);
  all.clock.advance(samplesKeptMs + 4 * hourMs);
  const expected = hoursOf(all.reports, all.clock.now());
  // Each hour is written and counted; SQLite reports no number of rows for the first.
  const writesOfHour = all.store.kind === 'postgres' ? 2 : 1;
  // Ended in the middle of the first hour, then of the third.
  for (const pieces of [2, 8]) {
    await all.store.db.deleteFrom('device_hours').execute();
    const ending = new AbortController();
    all.written.length = 0;
    const watch = (): void => {
      if (all.written.filter((rows) => rows === 1).length >= pieces * writesOfHour) ending.abort();
      else setImmediate(watch);
    };
    setImmediate(watch);
    await all.history.downsample(ending.signal);
    const made = (await all.read()).length;
    assert.ok(made >= pieces && made < expected.length, `${made} of ${expected.length}`);
  }
  await all.history.downsample();
  assert.deepEqual(await all.read(), expected);
  assert.deepEqual(await all.store.db.selectFrom('device_samples').selectAll().execute(), []);
});

test('many expired rows are deleted in blocks', async () => {
  await using all = await withSamples(20);
  const before = await all.store.db.selectFrom('device_samples').select('at').execute();
  assert.ok(before.length > 2 * rowsAtOnce);
  all.clock.advance(samplesKeptMs + 21 * hourMs);
  await all.history.downsample();
  assert.deepEqual(await all.store.db.selectFrom('device_samples').selectAll().execute(), []);
  assert.equal(Math.max(...all.written), rowsAtOnce);
});

type ValueHour = { device_id: string; capability: string; hour: number };

/** Everything of the devices but the first value of the first hour. */
const others = <T extends ValueHour>(hours: readonly T[], first: ValueHour): T[] =>
  hours.filter(
    (hour) => hour.device_id !== first.device_id || hour.capability !== first.capability || hour.hour !== first.hour,
  );

test('damaged values are left out, the rest is aggregated, and its expired rows are still deleted', async () => {
  await using all = await withSamples(3);
  all.clock.advance(samplesKeptMs + 4 * hourMs);
  const expected = hoursOf(all.reports, all.clock.now());
  const first = expected[0]!;
  const damaging = all.store.db.updateTable('device_samples').set({ later: '[[400' });
  await damaging
    .where('device_id', '=', first.device_id)
    .where('capability', '=', first.capability)
    .where('at', '<', first.hour + hourMs)
    .execute();
  const failure = await all.history.downsample().catch((error: unknown) => error);
  // SQLite skips what it cannot read, and uses the rest of the row.
  assert.equal(failure instanceof Error, all.store.kind === 'postgres', String(failure));
  assert.deepEqual(others(await all.read(), first), others(expected, first));
  const left = await all.store.db.selectFrom('device_samples').selectAll().execute();
  // What is not summed up is never deleted.
  const hours = left.map(({ at, ...row }) => ({ ...row, hour: at - (at % hourMs) }));
  assert.deepEqual(others(hours, first), []);
  assert.equal(left.length > 0, all.store.kind === 'postgres');
});

for (const { code, what, isLeftOut } of [
  {
    code: '22003',
    what: 'a value without a sum is left out, and reported after everything else is done',
    isLeftOut: true,
  },
  { code: '57P01', what: 'a lost database connection ends it, and nothing is removed', isLeftOut: false },
]) {
  test(`${what} (PostgreSQL’s ${code})`, async () => {
    await using all = await withSamples(3);
    all.clock.advance(samplesKeptMs + 4 * hourMs);
    const expected = hoursOf(all.reports, all.clock.now());
    const cause = Object.assign(new Error(what), { code });
    let sums = 0;
    const failing: KyselyPlugin = {
      transformQuery: ({ node }) => {
        const isSum = JSON.stringify(node).includes('insert into device_hours');
        if (isSum && (sums += 1) === 1) throw cause;
        return node;
      },
      transformResult: async ({ result }) => result,
    };
    const store = { ...all.store, db: all.store.db.withPlugin(failing) };
    const run = createHistoryStore({ store, clock: all.clock }).downsample();
    await assert.rejects(run, (error: Error) => error === cause || error.cause === cause);
    assert.deepEqual(await all.read(), isLeftOut ? others(expected, expected[0]!) : []);
    const left = await all.store.db.selectFrom('device_samples').selectAll().execute();
    const hourOf = ({ device_id, capability, at }: (typeof left)[number]) => [
      device_id,
      capability,
      at - (at % hourMs),
    ];
    const leftOut = expected[0]!;
    // What is not summed up is never deleted.
    assert.ok(left.length > 0);
    if (isLeftOut) {
      for (const row of left) assert.deepEqual(hourOf(row), [leftOut.device_id, leftOut.capability, leftOut.hour]);
    }
  });
}

test('an hour in which a device changed a value without a pause is summarised without reading all of it at once', async () => {
  await using store = await openTestStore();
  const clock = manualClock();
  const start = clock.now() - (clock.now() % hourMs);
  const devices = createDeviceStore({ db: store.db, clock });
  const { id } = await devices.provision({ externalId: 'a', type: 'climate', name: 'Hall', zoneId: null });
  await sql`
    insert into device_transitions (device_id, capability, at, value)
    select ${id}, 'open', cast(${start} as bigint) + 100 * i, case when i % 2 = 0 then 'true' else 'false' end
    from (with recursive counted(i) as (select 0 union all select i + 1 from counted where i < 35999)
      select i from counted) as numbers`.execute(store.db);
  let most = 0;
  const counting: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    transformResult: async ({ result }) => {
      most = Math.max(most, result.rows.length);
      return result;
    },
  };
  clock.advance(2 * hourMs);
  await createHistoryStore({ store: { ...store, db: store.db.withPlugin(counting) }, clock }).downsample();
  const left = await store.db.selectFrom('device_transitions').selectAll().execute();
  assert.ok(left.length <= 361, `${left.length} rows are left`);
  assert.equal(
    left.reduce((sum, { changes }) => sum + (changes ?? 1), 0),
    36_000,
  );
  assert.ok(most < 1_000, `one statement read ${most} rows`);
});
