/**
 * Measures the effect of close code 1012: how ten thousand stations reconnect after a restart of their cloud. It uses
 * the real link machine with its real delays, on a virtual clock. The cloud either closes with code 1012 or its
 * connections are reset without a code. Outages of several lengths are tried. The bench compares the busiest second
 * (refused attempts included) with an even spread over the 5 to 30 seconds after the code.
 */
import {
  createLinkMachine,
  createReconnect,
  type LinkMachine,
  spread,
} from '../../apps/backend/src/cloud/link-decide.ts';

const stations = 10_000;
const goal = 2;
const outagesMs = [0, 3_000, 5_000, 10_000, 20_000, 30_000, 60_000, 120_000, 600_000];

type Ending = 'close code 1012' | 'a reset';
type Outcome = {
  downMs: number;
  ending: Ending;
  peak: number;
  uniform: number;
  lastMs: number;
  peakAttempts: number;
};

/** Mulberry32: the same seed gives the same numbers. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function simulate(downMs: number, ending: Ending, seed: number): Outcome {
  const random = createRandom(seed);
  const machines = Array.from({ length: stations }, () => createLinkMachine(createReconnect(random)));
  // All stations have been connected for an hour, with pings at different times.
  const hour = 3_600_000;
  for (const machine of machines) {
    const since = Math.floor(random() * 30_000);
    machine.on({ kind: 'start', claimed: true }, since);
    machine.on({ kind: 'opened' }, since);
    machine.on({ kind: 'accepted' }, since);
    answerPings(machine, hour);
  }
  const closed = { kind: 'closed', by: 'cloud', code: ending === 'a reset' ? null : 1012, reason: 'restart' } as const;
  for (const machine of machines) machine.on(closed, hour);
  const ups: number[] = [];
  const attempts: number[] = [];
  for (const machine of machines) ups.push(...reconnectUntilUp(machine, hour, hour + downMs, attempts));
  const first = Math.min(...ups);
  const last = Math.max(...ups);
  const uniform = stations / Math.max(1, (last - first) / 1000);
  const peak = busiestSecond(ups);
  return {
    downMs,
    ending,
    peak,
    uniform,
    lastMs: last - hour - downMs,
    peakAttempts: busiestSecond(attempts),
  };
}

/** Answers every ping until `untilMs`. */
function answerPings(machine: LinkMachine, untilMs: number): void {
  for (let wake = machine.wakeAtMs(); wake !== null && wake <= untilMs; wake = machine.wakeAtMs()) {
    if (machine.on({ kind: 'time' }, wake).includes('ping')) machine.on({ kind: 'pong' }, wake);
  }
}

/** @returns the time at which the station was connected again. */
function reconnectUntilUp(machine: LinkMachine, fromMs: number, upAtMs: number, attempts: number[]): number[] {
  for (let now = machine.wakeAtMs() ?? fromMs; ; now = machine.wakeAtMs() ?? now + 1) {
    if (!machine.on({ kind: 'time' }, now).includes('connect')) continue;
    attempts.push(now);
    if (now >= upAtMs) return [now];
    machine.on({ kind: 'closed', by: 'network', code: null, reason: 'refused' }, now);
  }
}

function busiestSecond(times: number[]): number {
  const counts = new Map<number, number>();
  for (const time of times) counts.set(Math.floor(time / 1000), (counts.get(Math.floor(time / 1000)) ?? 0) + 1);
  return Math.max(...counts.values());
}

const outcomes = outagesMs.flatMap((downMs, index) => [
  simulate(downMs, 'close code 1012', index + 1),
  simulate(downMs, 'a reset', index + 101),
]);
for (const { downMs, ending, peak, uniform, lastMs, peakAttempts } of outcomes) {
  const recovery = `at most ${peak} reconnected in a second, ${(peak / uniform).toFixed(1)} times the average; the last ${Math.round(lastMs / 1000)} s after the cloud`;
  console.log(`down ${downMs / 1000} s by ${ending}: at most ${peakAttempts} attempts in a second; ${recovery}`);
}
const evenly = stations / ((spread.maxMs - spread.minMs) / 1000);
/** Restarts that end before the first station returns. The close code is meant for these. */
const restarts = outcomes.filter(({ downMs }) => downMs <= spread.minMs);
const busiest = (ending: Ending): number =>
  Math.max(...restarts.filter((one) => one.ending === ending).map(({ peakAttempts }) => peakAttempts));
const value = busiest('close code 1012');
const ratio = Number((value / evenly).toFixed(3));
const ok = ratio <= goal;
const withoutCode = busiest('a reset');
const longerOutages = Math.max(
  ...outcomes.filter(({ ending }) => ending === 'close code 1012').map(({ peakAttempts }) => peakAttempts),
);
const result = {
  bench: 'fleet',
  value,
  unit: 'attempts/s at most',
  ratio,
  goal,
  ok,
  stations,
  evenly,
  withoutCode,
  longerOutages,
};
console.log(JSON.stringify(result));
process.exitCode = ok ? 0 : 1;
