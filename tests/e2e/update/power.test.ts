import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { seededRandom } from '@station/simulators/devices/random';
import type { ImageStore } from '../../rig/docker-engine.ts';
import { extent } from '../../rig/extent.ts';
import { type Moment, momentsOf, type Station, versions } from './power-moments.ts';
import { createPowerStation, type PowerStation } from './power-station.ts';

/*
 * Power cuts of a whole station on a real engine: Docker's data, the agent and the stack are on one disk, and the next boot finds what was on it at one
 * instant. After each cut the station must get along alone: healthy on the right release, with every file of its images as it was pushed.
 * STATION_CUTS=STORE/MOMENT,MOMENT/FROM-TO chooses some of the rounds (`*` stands for all), for a repeated round or a sweep in pieces.
 */

const roundsOfMoment = extent(2, 36);
/** The same cuts in every run, others in every sweep. */
const seed = process.env['STATION_SEED'] ?? extent('1', String(randomInt(1_000_000)));
const [onlyStore = '*', onlyMoments = '*', onlyRounds = '*'] = (process.env['STATION_CUTS'] ?? '*').split('/');
const [firstRound = 1, lastRound = firstRound] =
  onlyRounds === '*' ? [1, roundsOfMoment] : onlyRounds.split('-').map(Number);

type Counts = { cuts: number; twice: number; rebuilt: number; person: number; quarantined: number; damaged: number };
const noCounts = (): Counts => ({ cuts: 0, twice: 0, rebuilt: 0, person: 0, quarantined: 0, damaged: 0 });

/** All that chance decides of a round, so that a round can be repeated alone. */
function drawRound(store: ImageStore, { name, restsOffline }: Moment, round: number) {
  const random = seededRandom(`${seed}/${store}/${name}/${round}`);
  // The first numbers of similar seeds are alike.
  for (let skipped = 0; skipped < 10; skipped += 1) random();
  return {
    random,
    share: random(),
    isAfter: random() < 0.5,
    again: random() < 0.25 ? random() : null,
    isOffline: random() < 0.3 && restsOffline.length > 0,
    isNextTried: random() < 0.3,
  };
}

type Round = ReturnType<typeof drawRound>;

for (const store of ['containerd', 'overlay2'] as const) {
  if (onlyStore !== '*' && onlyStore !== store) continue;
  test(`after power cuts the station gets along alone (${store}, STATION_SEED=${seed})`, async (context) => {
    await using station = await createPowerStation(store);
    const table: Record<string, Counts> = {};
    const failures: string[] = [];
    for (const moment of momentsOf(store)) {
      if (onlyMoments !== '*' && !onlyMoments.split(',').includes(moment.name)) continue;
      const counts = noCounts();
      table[moment.name] = counts;
      const wholeMs = await measure(station, moment);
      for (let round = firstRound; round <= lastRound; round += 1) {
        const drawn = drawRound(store, moment, round);
        const started = performance.now();
        const failure = await tryRound(station, moment, { ...drawn, wholeMs, counts });
        const where = `${store}/${moment.name}/${round}`;
        const seconds = ((performance.now() - started) / 1000).toFixed(0);
        const verdict = failure === null ? 'good' : `BAD ${failure}`;
        process.stdout.write(`${where}, ${seconds} s, ${JSON.stringify(counts)}: ${verdict}\n`);
        if (failure === null) continue;
        failures.push(where);
        process.stdout.write(`again: STATION_SEED=${seed} STATION_CUTS=${where} npm run sweep -- power\n`);
      }
    }
    for (const [name, counts] of Object.entries(table))
      context.diagnostic(`${store} ${name} ${JSON.stringify(counts)}`);
    assert.deepEqual(failures, []);
  });
}

/** How long the moment takes without a cut. */
async function measure({ lab, disks, publish, round }: PowerStation, moment: Moment): Promise<number> {
  publish(moment.release);
  await lab.boot(disks[moment.from], (dataRoot) => plant(moment, dataRoot, seededRandom(seed)));
  const station = round();
  await moment.begin(station);
  const started = performance.now();
  await moment.pass(station);
  return performance.now() - started;
}

const plant = async (moment: Moment, dataRoot: string, random: () => number): Promise<void> =>
  moment.plant?.(dataRoot, random);

/** @returns what is wrong in the end; null: nothing. */
async function tryRound(
  power: PowerStation,
  moment: Moment,
  drawn: Round & { wholeMs: number; counts: Counts },
): Promise<string | null> {
  const { lab } = power;
  const { counts } = drawn;
  const station = power.round();
  const since = lab.agent.events.length;
  try {
    await cut(power, station, moment, drawn);
    counts.cuts += 1;
    if (drawn.again !== null) counts.twice += 1;
    const version = await recover(power, station, moment, drawn);
    const events = lab.agent.events.slice(since);
    if (events.some(({ event }) => event === 'image_healed')) counts.rebuilt += 1;
    const quarantined = (await lab.agent.status()).quarantined.filter((one) => one.version !== versions.bad);
    counts.quarantined += quarantined.length;
    assert.deepEqual(quarantined, [], 'no good release is quarantined');
    const damage = await station.damage(version);
    counts.damaged += damage.length;
    assert.deepEqual(damage, [], 'every image is whole');
    return null;
  } catch (error) {
    counts.person += 1;
    const { message, cause } = error as Error;
    const last = cause instanceof Error ? `, ${cause.message}` : '';
    return `${message}${last}\n${await station.explain(since)}`;
  } finally {
    await lab.registry.start();
  }
}

async function cut(
  { lab, disks, publish }: PowerStation,
  station: ReturnType<PowerStation['round']>,
  moment: Moment,
  { random, share, isAfter, again, isOffline, wholeMs }: Round & { wholeMs: number },
): Promise<void> {
  publish(moment.release);
  await lab.boot(disks[moment.from], (dataRoot) => plant(moment, dataRoot, random));
  await moment.begin(station);
  const passing = moment.pass(station).catch(() => undefined);
  if (isAfter && moment.afterMs > 0) {
    await passing;
    await sleep(share * moment.afterMs);
  } else {
    await sleep(share * wholeMs);
  }
  await station.cut();
  await passing;
  publish(moment.rests === versions.next ? versions.next : moment.release);
  if (isOffline) await lab.registry.stop();
  if (again === null) return;
  void lab.agent.start().catch(() => undefined);
  await sleep(again * Math.max(wholeMs, 3000));
  await lab.cutPower();
}

/** Nothing is done from outside, except that the next release appears in some rounds. @returns the version that runs in the end. */
async function recover(
  { lab, publish }: PowerStation,
  station: Station,
  { rests, restsOffline }: Moment,
  { isOffline, isNextTried }: Round,
): Promise<string> {
  await lab.agent.start();
  const version = await station.untilRest(isOffline ? restsOffline : [rests], { isOffline });
  if (!isOffline && !isNextTried) return version;
  await lab.registry.start();
  publish(versions.last);
  await lab.agent.call('POST', '/check');
  return station.untilRest([versions.last]);
}
