import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceReport } from '../core/device-events.ts';
import { createEventIds } from '../core/event-ids.ts';
import { sumUpHours } from '../history/downsampling.ts';
import { createHistoryStore } from '../history/history-store.ts';
import { createClockStore } from './clock-store.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { writeReports } from '../history/report-store.ts';
import { jumpingClock, type JumpingClock } from '../../testing/jumping-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { settled } from '../../testing/stepped-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import type { AgentClock } from './agent-clock.ts';
import { openStationTime } from './station-time.ts';
import { earliestMs } from './station-time-decide.ts';

const truth = Date.UTC(2026, 10, 23, 12);
const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

const right: AgentClock = { word: 'right', source: 'ntp' };
const wrong: AgentClock = { word: 'wrong', source: 'none' };

/** A station over several boots: one database, and a machine for each boot. */
async function withStation() {
  const store = await openTestStore();
  const { db } = store;
  const device = await createDeviceStore({ db, clock: jumpingClock(truth - year) }).provision({
    externalId: 'x',
    type: 'climate',
    name: 'Hall',
    zoneId: null,
  });
  const boot = async (machine: JumpingClock, answer: { says: AgentClock } | null) => {
    const logger = recordedLog();
    const time = await openStationTime({
      machine,
      boot: machine.boot,
      store: createClockStore(store),
      logger,
      askAgent: answer && (async () => answer.says),
      sumUpAgain: async (fromMs, _nowMs, signal) => void (await sumUpHours(store, machine.now(), signal, fromMs)),
    });
    const newId = createEventIds(time.clock.now);
    const history = createHistoryStore({ store, trustedTime: time.trusted, clock: time.clock });
    const report = async (value: number): Promise<number> => {
      const at = time.clock.now();
      const one: DeviceReport = { kind: 'state', deviceId: device.id, at, state: { temperature: value } };
      const event: DeviceReport = {
        kind: 'event',
        deviceId: device.id,
        at,
        eventKind: 'device_event',
        data: { value },
      };
      await writeReports(store, [one, event], newId);
      return at;
    };
    return { time, report, logger, downsample: () => history.downsample(), machine };
  };
  const samples = async () =>
    (await db.selectFrom('device_samples').select(['at', 'value']).orderBy('value').execute()).map(
      ({ at, value }) => [value, at] as const,
    );
  const events = async () =>
    (await db.selectFrom('device_events').select(['at', 'data']).orderBy('id').execute()).map(
      ({ at, data }) => [(JSON.parse(data) as { value: number }).value, at] as const,
    );
  const periods = () => db.selectFrom('clock_periods').selectAll().execute();
  return { store, db, device, boot, samples, events, periods, [Symbol.asyncDispose]: store[Symbol.asyncDispose] };
}

type Booted = Awaited<ReturnType<Awaited<ReturnType<typeof withStation>>['boot']>>;

/** Until the history is corrected. */
async function corrected({ machine, time }: Booted): Promise<void> {
  for (let turns = 0; !time.trusted.areAgesTrue(); turns++) {
    assert.ok(turns < 10_000, 'the history is corrected');
    await machine.advance(1_000);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

test('a clock that is right is followed at once, and leaves no period', async () => {
  await using station = await withStation();
  const machine = jumpingClock(truth);
  const { time } = await station.boot(machine, { says: right });
  await using _time = time;
  assert.ok(time.trusted.isTrusted() && time.trusted.areAgesTrue());
  assert.equal(time.clock.now(), truth);
  machine.pass(90 * day);
  await time.check();
  // NTP slews.
  machine.set(machine.now() + 9_000);
  assert.equal(time.clock.now(), machine.now());
  assert.deepEqual(await station.periods(), []);
});

test('a first boot in 1970: the times of its rows are corrected when NTP answers', async () => {
  await using station = await withStation();
  await station.db.deleteFrom('devices').execute();
  const { id } = await createDeviceStore({ db: station.db, clock: jumpingClock(0) }).provision({
    externalId: 'y',
    type: 'climate',
    name: 'Hall',
    zoneId: null,
  });
  const machine = jumpingClock(5_000);
  const answer = { says: wrong };
  const booted = await station.boot(machine, answer);
  await using time = booted.time;
  assert.equal(time.clock.now(), earliestMs);
  const at = time.clock.now();
  const one: DeviceReport = { kind: 'state', deviceId: id, at, state: { temperature: 1 } };
  await writeReports(station.store, [one], createEventIds(time.clock.now));
  machine.pass(hour);
  const steps: number[] = [];
  using _steps = time.trusted.subscribe((stepMs) => steps.push(stepMs));
  machine.set(truth + 500);
  answer.says = right;
  await time.check();
  assert.equal(time.clock.now(), truth + 500);
  assert.deepEqual(steps, [truth + 500 - earliestMs - hour]);
  assert.ok(!time.trusted.areAgesTrue(), 'nothing is deleted before the history is corrected');
  await corrected(booted);
  assert.deepEqual(await station.samples(), [[1, truth - hour]]);
  const device = await station.db.selectFrom('devices').selectAll().executeTakeFirstOrThrow();
  assert.equal(device.state_at, truth - hour);
  assert.deepEqual(await station.periods(), []);
});

test('a boot in 1970 after a year of history: its rows come after the old ones and are moved to their time', async () => {
  await using station = await withStation();
  const before = await station.boot(jumpingClock(truth), { says: right });
  const first = await before.report(1);
  await before.time[Symbol.asyncDispose]();
  const machine = jumpingClock(5_000, 'second boot');
  const answer = { says: wrong };
  const booted = await station.boot(machine, answer);
  await using time = booted.time;
  assert.ok(!time.trusted.isTrusted() && time.isDoubtful());
  assert.ok((await booted.report(2)) > first);
  machine.pass(30 * day);
  await booted.report(3);
  await booted.downsample();
  assert.equal((await station.samples()).length, 3, 'nothing is deleted');
  assert.deepEqual(await station.db.selectFrom('device_hours').select('hour').execute(), []);
  machine.set(truth + year);
  answer.says = right;
  await time.check();
  await booted.report(4);
  await corrected(booted);
  const found = [...(await station.samples())].map(([value, at]) => [value, Math.round((at - truth) / minute)]);
  const s = (ms: number) => ms / minute;
  const end = found[3]?.[1] ?? 0;
  assert.deepEqual(found, [
    [1, 0],
    [2, s(year - 30 * day)],
    [3, s(year)],
    [4, end],
  ]);
  assert.deepEqual(
    (await station.events()).map(([value]) => value),
    [1, 2, 3, 4],
    'the order of ids is the order of arrival',
  );
  await booted.downsample();
  assert.deepEqual(
    await station.db
      .selectFrom('device_hours')
      .select('samples')
      .execute()
      .then((rows) => rows.length),
    3,
  );
});

test('a clock that was ahead: rows are moved back and summed up', async () => {
  await using station = await withStation();
  const machine = jumpingClock(truth);
  const answer: { says: AgentClock } = { says: right };
  const booted = await station.boot(machine, answer);
  await using time = booted.time;
  await booted.report(1);
  machine.pass(100);
  answer.says = wrong;
  machine.set(truth + 3 * year);
  // The step is noticed by the first reading: no row gets the wrong time.
  assert.ok((await booted.report(2)) - truth < 1_000);
  assert.ok(!time.trusted.isTrusted());
  machine.pass(2 * hour);
  await booted.report(3);
  await booted.downsample();
  machine.set(truth + 2 * hour);
  answer.says = right;
  await time.check();
  await corrected(booted);
  assert.deepEqual(
    (await station.samples()).map(([value, at]) => [value, Math.round((at - truth) / minute)]),
    [
      [1, 0],
      [2, 0],
      [3, 120],
    ],
  );
});

test('two boots without a clock, and a crash before the correction', async () => {
  await using station = await withStation();
  const trusted = await station.boot(jumpingClock(truth), { says: right });
  await trusted.report(1);
  await trusted.time[Symbol.asyncDispose]();
  const second = await station.boot(jumpingClock(5_000, 'second'), { says: wrong });
  second.machine.pass(hour);
  const ofSecond = await second.report(2);
  await second.time[Symbol.asyncDispose]();
  const machine = jumpingClock(5_000, 'third');
  const answer = { says: wrong };
  const third = await station.boot(machine, answer);
  const ofThird = await third.report(3);
  assert.ok(ofThird > ofSecond, 'the second boot is later than the first');
  machine.pass(hour);
  machine.set(truth + 10 * day);
  answer.says = right;
  await third.time.check();
  // It ends before the history is corrected.
  assert.equal((await station.samples())[2]?.[1], ofThird);
  await third.time[Symbol.asyncDispose]();
  const after = await station.boot(jumpingClock(truth + 10 * day + minute, 'third', hour + minute), { says: right });
  await using time = after.time;
  assert.ok(!time.trusted.areAgesTrue());
  await corrected(after);
  const found = await station.samples();
  assert.equal(found[1]?.[1], ofSecond, 'nobody knows when the second boot was: it stays after the first');
  assert.equal(Math.round(((found[2]?.[1] ?? 0) - truth) / minute), 10 * 24 * 60 - 60);
});

test('a process that ended before NTP answered: the next one of the same boot corrects its rows', async () => {
  await using station = await withStation();
  const first = await station.boot(jumpingClock(5_000, 'boot', 0), { says: wrong });
  const at = await first.report(1);
  first.machine.pass(minute);
  await first.time[Symbol.asyncDispose]();
  const second = await station.boot(jumpingClock(truth, 'boot', 11 * minute), { says: right });
  await using time = second.time;
  assert.equal(time.clock.now(), truth);
  await corrected(second);
  const [[, moved] = [0, 0]] = await station.samples();
  assert.ok(Math.abs(moved - (truth - 11 * minute)) <= 1_000, `${at} ${moved - truth}`);
});

test('without an agent a year ahead is shown, and nothing is deleted for a day', async () => {
  await using station = await withStation();
  const machine = jumpingClock(truth);
  const booted = await station.boot(machine, null);
  await using time = booted.time;
  assert.ok(time.trusted.areAgesTrue());
  await booted.report(1);
  machine.set(truth + year);
  assert.ok(Math.abs(time.clock.now() - truth) < 1_000);
  await time.check();
  assert.equal(time.clock.now(), machine.now());
  assert.ok(!time.trusted.isTrusted() && time.isDoubtful());
  await booted.report(2);
  await booted.downsample();
  assert.equal((await station.samples()).length, 2);
  machine.set(truth + minute);
  await time.check();
  await settled();
  machine.pass(day + minute);
  await time.check();
  await corrected(booted);
  assert.ok(time.trusted.isTrusted());
  const [, [, second] = [0, 0]] = await station.samples();
  assert.ok(second - truth <= minute + 1_000, `${second - truth}`);
});

test('a person confirms the clock of a machine without an agent', async () => {
  await using station = await withStation();
  const before = await station.boot(jumpingClock(truth), null);
  await before.report(1);
  await before.time[Symbol.asyncDispose]();
  const booted = await station.boot(jumpingClock(truth + 3 * year, 'later'), null);
  await using time = booted.time;
  assert.ok(!time.trusted.isTrusted());
  await time.confirm();
  assert.ok(time.trusted.isTrusted());
  assert.deepEqual([time.source(), time.clock.now()], ['person', truth + 3 * year]);
});
