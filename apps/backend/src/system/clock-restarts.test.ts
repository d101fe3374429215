import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { DeviceReport } from '../core/device-events.ts';
import { createEventIds } from '../core/event-ids.ts';
import { sumUpHours } from '../history/downsampling.ts';
import { createHistoryStore } from '../history/history-store.ts';
import { writeReports } from '../history/report-store.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { jumpingClock } from '../../testing/jumping-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createClockStore } from './clock-store.ts';
import { openStationTime, type StationTime } from './station-time.ts';

// Nobody tells whether the clock is right. It jumps ahead and comes back, and the backend or the machine restarts in between.

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;
const noon = Date.UTC(2026, 10, 23, 12);
/** How long a machine is off for a reboot, and a process for a restart. */
const offMs = 3 * minute;

type Step = 'ahead' | 'half' | 'back' | 'restart' | 'reboot' | 'hours' | 'two days';

/** A station whose true time the test knows; it reports a value after each step. */
async function withStation(aheadMs: number) {
  await using opening = new AsyncDisposableStack();
  const store = opening.use(await openTestStore());
  const { db } = store;
  const provision = { externalId: 'x', type: 'climate', name: 'Hall', zoneId: null };
  const { id: deviceId } = await createDeviceStore({ db, clock: jumpingClock(noon) }).provision(provision);
  let machine = jumpingClock(noon);
  let boots = 1;
  let trueAtZeroMs = noon;
  let wrongMs = 0;
  const trueNow = (): number => trueAtZeroMs + machine.monotonic();
  const wall = (): number => trueNow() + wrongMs;
  const open = () =>
    openStationTime({
      machine,
      boot: machine.boot,
      store: createClockStore(store),
      logger: recordedLog(),
      askAgent: null,
      settleMs: 1_000,
      sumUpAgain: async (fromMs, _nowMs, signal) => void (await sumUpHours(store, machine.now(), signal, fromMs)),
    });
  let time: StationTime | null = await open();
  const running = (): StationTime => {
    assert.ok(time, 'the backend runs');
    return time;
  };
  const stop = async (): Promise<void> => {
    await time?.[Symbol.asyncDispose]();
    time = null;
  };
  opening.defer(stop);
  const sent: number[] = [];
  const report = async (): Promise<void> => {
    const at = running().clock.now();
    const value = sent.push(trueNow());
    const state: DeviceReport = { kind: 'state', deviceId, at, state: { temperature: value } };
    const event: DeviceReport = { kind: 'event', deviceId, at, eventKind: 'device_event', data: { value } };
    await writeReports(store, [state, event], createEventIds(running().clock.now));
  };
  const settle = async (): Promise<void> => {
    for (let turn = 0; turn < 15; turn++) {
      await machine.advance(1_000);
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  };
  const reboot = (): void => {
    const atMs = trueNow() + offMs;
    boots += 1;
    machine = jumpingClock(atMs + wrongMs, `boot ${boots}`);
    trueAtZeroMs = atMs;
  };
  /** What happens to a machine; a stopped backend notices nothing. */
  const happen: Record<Step, () => void> = {
    ahead: () => {
      wrongMs = aheadMs;
      machine.set(wall());
    },
    half: () => {
      wrongMs = Math.floor(aheadMs / 2);
      machine.set(wall());
    },
    back: () => {
      wrongMs = 0;
      machine.set(wall());
    },
    restart: () => machine.pass(offMs),
    reboot,
    hours: () => machine.pass(3 * hour),
    'two days': () => machine.pass(2 * day),
  };
  const live = async (): Promise<void> => {
    time ??= await open();
    await settle();
    await report();
    await settle();
  };
  const history = async () => {
    const samples = await db.selectFrom('device_samples').select(['at', 'value']).orderBy('value').execute();
    const events = await db.selectFrom('device_events').select(['at', 'data']).execute();
    const noted = events.map(({ at, data }) => ({ at, value: (JSON.parse(data) as { value: number }).value }));
    return { samples, events: noted.sort((a, b) => a.value - b.value) };
  };
  /** What the housekeeping of each hour does. */
  const tidy = (): Promise<void> =>
    createHistoryStore({ store, trustedTime: running().trusted, clock: running().clock }).downsample();
  const opened = opening.move();
  return {
    happen: (step: Step): void => happen[step](),
    live,
    stop,
    settle,
    tidy,
    history,
    sent,
    trueNow,
    time: running,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type Station = Awaited<ReturnType<typeof withStation>>;

const isStop = (step: Step): boolean => step === 'restart' || step === 'reboot';

/** Steps in brackets happen while the backend does not run. */
async function take(station: Station, steps: readonly (Step | readonly Step[])[]): Promise<void> {
  for (const step of steps) {
    const parts: readonly Step[] = typeof step === 'string' ? [step] : step;
    if (parts.some(isStop)) await station.stop();
    for (const part of parts) station.happen(part);
    await station.live();
  }
}

const jumps: [string, number][] = [
  ['three years', 3 * year],
  ['200 days', 200 * day],
  ['an hour', hour],
];
const comings: { story: string; steps: readonly (Step | readonly Step[])[] }[] = [
  { story: 'no restart', steps: ['ahead', 'hours', 'back'] },
  { story: 'a restart while it is ahead', steps: ['ahead', 'restart', 'back'] },
  { story: 'restarts while it is ahead, and after', steps: ['ahead', 'restart', 'restart', 'back', 'restart'] },
  { story: 'a jump while the backend does not run', steps: [['restart', 'ahead'], 'hours', 'back'] },
  { story: 'a return while the backend does not run', steps: ['ahead', 'hours', ['restart', 'back']] },
  {
    story: 'both while the backend does not run',
    steps: [
      ['restart', 'ahead'],
      ['restart', 'back'],
    ],
  },
  { story: 'a reboot while it is ahead', steps: ['ahead', 'reboot', 'back'] },
  { story: 'two reboots while it is ahead', steps: ['ahead', 'reboot', 'hours', 'reboot', 'back'] },
  { story: 'a reboot with the right clock', steps: ['ahead', 'hours', ['reboot', 'back']] },
  {
    story: 'a reboot that keeps it ahead, and one with the right clock',
    steps: ['ahead', 'reboot', ['reboot', 'back']],
  },
  { story: 'a restart and a reboot', steps: ['ahead', 'restart', 'reboot', 'restart', 'back', 'reboot'] },
  { story: 'two days ahead, and a reboot with the right clock', steps: ['ahead', 'two days', ['reboot', 'back']] },
  { story: 'two days ahead, a restart, and back', steps: ['ahead', 'two days', 'restart', 'back'] },
  { story: 'back in two steps', steps: ['ahead', 'hours', 'half', 'hours', 'back'] },
  { story: 'two days ahead, then back in two steps', steps: ['ahead', 'two days', 'half', 'restart', 'back'] },
  { story: 'ahead and back twice', steps: ['ahead', 'reboot', 'back', 'hours', 'ahead', 'restart', 'back', 'reboot'] },
];

describe('a clock that jumps ahead and comes back without a word of anybody', () => {
  for (const [jump, aheadMs] of jumps) {
    for (const { story, steps } of comings) {
      // A step back of less than a day, and not by all of the jump, moves nothing.
      if (aheadMs < day && steps.includes('half')) continue;
      test(`${jump}: ${story}`, async () => {
        await using station = await withStation(aheadMs);
        await station.live();
        station.happen('hours');
        await station.live();
        await take(station, steps);
        assert.ok(Math.abs(station.time().clock.now() - station.trueNow()) < 15_000, 'the time of the station');
        station.happen('two days');
        await station.live();
        await station.settle();
        assert.ok(station.time().trusted.areAgesTrue(), 'the clock is believed again');
        const { samples, events } = await station.history();
        for (const [what, rows] of Object.entries({ samples, events })) {
          assert.deepEqual(
            rows.map(({ value }) => value),
            station.sent.map((_, index) => index + 1),
            what,
          );
          for (const { at, value } of rows) {
            const offMinutes = (at - (station.sent[value - 1] ?? 0)) / minute;
            assert.ok(Math.abs(offMinutes) < 1, `${what}: value ${value} is ${offMinutes} minutes off`);
          }
        }
      });
    }
  }
});

describe('after a jump of years nothing is deleted for a day', () => {
  const waits: { story: string; steps: readonly (Step | readonly Step[])[] }[] = [
    { story: 'without a restart', steps: ['ahead'] },
    { story: 'over a restart', steps: ['ahead', 'restart'] },
    { story: 'over a restart with the jump', steps: [['restart', 'ahead']] },
    { story: 'over a reboot', steps: ['ahead', 'reboot'] },
    { story: 'over a restart and a reboot', steps: ['ahead', 'restart', 'reboot', 'restart'] },
  ];
  for (const { story, steps } of waits) {
    test(story, async () => {
      await using station = await withStation(3 * year);
      await station.live();
      await take(station, steps);
      await station.tidy();
      for (let hours = 0; hours < 18; hours += 3) {
        station.happen('hours');
        await station.live();
        await station.tidy();
      }
      const kept = await station.history();
      assert.deepEqual([kept.samples[0]?.value, kept.events[0]?.value], [1, 1]);
      assert.ok(!station.time().trusted.areAgesTrue() && station.time().isDoubtful());
      for (let hours = 0; hours < 9; hours += 3) {
        station.happen('hours');
        await station.live();
      }
      assert.ok(station.time().trusted.areAgesTrue(), 'the day is over, however often it began again');
    });
  }
});
