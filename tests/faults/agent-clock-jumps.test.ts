import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { change, advance } from '@station/simulators/wifi/air';
import { type AgentRun, runAgent } from './agent-run.ts';
import { cacheDir, createFirmwareWorld } from './firmware-world.ts';
import { runFirmware } from './firmware-run.ts';
import { expectationOf, prepare, scenarios, type Scenario } from './scenarios.ts';
import { judge } from './judge.ts';
import { runWifi } from './wifi-run.ts';
import { createWifiWorld, profile, router } from './wifi-world.ts';
import type { World } from './world.ts';

/**
 * One table for the agent, as `clock-jumps.test.ts` is for the backend: what the wall clock does, and what must not depend on it. It jumps
 * twice, in the middle of each duty.
 */

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

type Row = {
  name: string;
  /** How far from the truth the clock is: at the start, after the first jump and after the second. */
  offsets: [number, number, number];
  /** What the system says of the clock then; null: nothing. */
  isRight: [boolean | null, boolean | null, boolean | null];
};

const sinceEpoch = Date.parse('2026-06-01T03:00:00.000Z') - 5000;
const rows: Row[] = [
  { name: 'nothing', offsets: [0, 0, 0], isRight: [true, true, true] },
  { name: '1970 at boot, right later', offsets: [-sinceEpoch, 0, 0], isRight: [false, true, true] },
  { name: '1970 for ever', offsets: [-sinceEpoch, -sinceEpoch, -sinceEpoch], isRight: [false, false, false] },
  { name: 'ten years ahead, noticed, and back', offsets: [0, 10 * year, 0], isRight: [true, false, true] },
  { name: 'ten years ahead by a wrong server, and back', offsets: [0, 10 * year, 0], isRight: [true, true, true] },
  { name: 'ten years ahead and back; nobody knows', offsets: [0, 10 * year, 0], isRight: [null, null, null] },
  { name: 'three years back and forward', offsets: [0, -3 * year, 0], isRight: [true, false, true] },
  { name: 'three years ahead from the boot on', offsets: [3 * year, 3 * year, 0], isRight: [true, true, true] },
  { name: 'an hour back and forward', offsets: [0, -hour, 0], isRight: [true, true, true] },
  { name: 'a slow drift', offsets: [0, 40_000, 80_000], isRight: [true, true, true] },
];

/** Moves the wall clock of a world as the row says. */
function createJumps({ offsets, isRight }: Row, time: World['time'], atMs: readonly [number, number]) {
  const startMs = time.monotonicMs;
  let stage = 0;
  time.wallMs += offsets[0];
  const pass = (): void => {
    while (stage < 2 && time.monotonicMs - startMs >= atMs[stage]!) {
      time.wallMs += offsets[stage + 1]! - offsets[stage]!;
      stage += 1;
    }
  };
  return { pass, isRight: () => isRight[stage] ?? null };
}

const [good, bad] = scenarios as readonly [Scenario, Scenario, ...Scenario[]];

/** Everything of a run that must not depend on the wall clock. */
const essenceOf = ({ outcome, totalMs, gateMs, events, servedAfterMs }: AgentRun) => ({
  outcome,
  totalMs,
  gateMs,
  servedAfterMs,
  // What the clock says of itself is not part of the duty.
  events: events.filter((event) => !event.startsWith('condition_')),
});

async function runRelease(row: Row, scenario: Scenario) {
  const world = await prepare(scenario);
  const jumps = createJumps(row, world.time, [20_000, 40_000]);
  const run = await runAgent(world, {
    request: scenario.request,
    // Several checks of the manifest come later.
    stayMs: 5 * hour,
    onSleep: jumps.pass,
    isClockRight: jumps.isRight,
  });
  return { world, run };
}

async function runRadio(row: Row) {
  const world = createWifiWorld([router('home')], [profile('home')]);
  const startMs = world.time.monotonicMs;
  const jumps = createJumps(row, world.time, [6 * minute, 12 * minute]);
  const setRouter =
    (isOn: boolean) =>
    ({ air, time }: typeof world): void => {
      for (const each of air.routers) each.isOn = isOn;
      change(air, {});
      advance(air, time.monotonicMs);
    };
  const run = await runWifi(world, {
    untilMs: startMs + 40 * minute,
    end: 'cut',
    events: [
      { atMs: startMs + 5 * minute, name: 'away', apply: setRouter(false) },
      { atMs: startMs + 6 * minute, name: 'first jump', apply: jumps.pass },
      { atMs: startMs + 12 * minute, name: 'second jump', apply: jumps.pass },
      { atMs: startMs + 20 * minute, name: 'back', apply: setRouter(true) },
    ],
  });
  const lines = run.lines.map((line) => JSON.parse(line) as { event: string });
  return { outcome: run.outcome, points: run.points, ssid: run.status.ssid, events: lines.map(({ event }) => event) };
}

const still = rows[0]!;
const releases = [
  ['a good update', good],
  ['an update that is rolled back', bad],
] as const;

for (const row of rows) {
  describe(`the clock: ${row.name}`, () => {
    for (const [what, scenario] of releases) {
      test(`${what} takes the same steps and the same time`, async () => {
        const { world, run } = await runRelease(row, scenario);
        // Hours of rest are not work.
        const expected = { ...expectationOf(scenario, world.ids - 1), disturbed: true };
        assert.deepEqual(await judge(world, run, expected), []);
        assert.deepEqual(essenceOf(run), essenceOf((await runRelease(still, scenario)).run));
        const isTrueInTheEnd = row.offsets[2] === 0;
        assert.ok(!(isTrueInTheEnd && run.conditions.includes('clock_behind')), 'the time that was wrong is forgotten');
      });
    }

    test('firmware is fetched and handed over; its age removes a file only when the clock is right', async () => {
      const world = createFirmwareWorld({ lamp: '1.0.0' });
      await runFirmware(world);
      world.offered = { lamp: '1.1.0' };
      world.installed = { lamp: ['1.0.0'] };
      const jumps = createJumps(row, world.time, [2 * hour, 4 * hour]);
      const run = await runFirmware(world, { forMs: 5.5 * hour, onSleep: jumps.pass, isClockRight: jumps.isRight });
      assert.equal(run.outcome, 'quiet', String(run.surprise));
      assert.equal(world.cached['lamp'], '1.1.0');
      const wasThere = world.disk.names.has(`${cacheDir}/lamp@1.0.0.bin`);
      const [fetchedAt, ...later] = row.offsets;
      // A time of 1970 gives no age.
      const isDated = fetchedAt > -sinceEpoch;
      const believesYears = isDated && later.some((at, index) => at - fetchedAt > 30 * day && row.isRight[index + 1]);
      assert.equal(wasThere, !believesYears);
      assert.ok(world.disk.names.has(`${cacheDir}/lamp@1.1.0.bin`));
    });

    test('the hotspot comes and goes at the same moments', async () => {
      const result = await runRadio(row);
      assert.equal(result.ssid, 'home');
      assert.ok(result.events.includes('hotspot_started'));
      assert.deepEqual(result, await runRadio(still));
    });
  });
}
