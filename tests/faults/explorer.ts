import { runAgent, type AgentRun, type AgentRunOptions } from './agent-run.ts';
import { createRandom } from './choice.ts';
import {
  crashed,
  crashesAt,
  describeCrashes,
  createSnapshots,
  isQuestion,
  type Crash,
  type Snapshot,
} from './crashes.ts';
import { judge, judgeAbsence, type Expectation } from './judge.ts';
import { expectationOf, prepare, type Scenario } from './scenarios.ts';
import { damages, killAgent, readFileNow, type World } from './world.ts';

/** A wrong result: how to reproduce it with `replay.ts`, and what is wrong. */
export type BadEnd = { replay: string; stage: string; faults: readonly string[] };

/** Number of runs by kind. `single` and `double` count crash points. */
export type Counts = { single: number; double: number; storms: number; damaged: number; afterwards: number };

export type ExploreOptions = {
  /** Random survival variants tried beside the extremes, at each point where they can differ. */
  randomVariants: number;
  /** Between two changes, one point in so many is tried. */
  quietEvery: number;
  /** One crash in so many is tried at all; 1: every crash. */
  every: number;
  /** One tried crash in so many is crashed again in its recovery, at so many points. */
  doubleEvery: number;
  secondCrashes: number;
  /** One tried crash in so many is followed by an update with the network back. */
  afterwardsEvery: number;
  /** Number of damaged state files tried at each point. */
  damages: number;
  /** Number of chains of many crashes, at random points. */
  storms: number;
  /** A flaw in the world, to check that the exploration finds it. */
  flaw?: Pick<AgentRunOptions, 'wrapDisk' | 'wrapEngine' | 'bootId'>;
};

export type Exploration = { counts: Counts; badEnds: BadEnd[] };

type Explored = Exploration & {
  scenario: Scenario;
  expected: Expectation;
  options: ExploreOptions;
  random: () => number;
};

/** Runs a scenario, crashes it at every point in every way, recovers each crash without a network, and checks the result. */
export async function explore(scenario: Scenario, options: ExploreOptions): Promise<Exploration> {
  const world = await prepare(scenario);
  const explored: Explored = {
    scenario,
    expected: expectationOf(scenario, world.ids),
    options,
    random: createRandom(scenario.name.length),
    counts: { single: 0, double: 0, storms: 0, damaged: 0, afterwards: 0 },
    badEnds: [],
  };
  const begun = { request: scenario.request, ...options.flaw };
  const { run, snapshots } = await runWithSnapshots(world, begun, options.quietEvery);
  note(explored, [], 'without a crash', await judge(world, run, explored.expected));
  let number = 0;
  for (const snapshot of snapshots) {
    for (const crash of crashesAt(snapshot, options.randomVariants, explored.random)) {
      number += 1;
      if (number % options.every === 0) await tryCrash(explored, snapshot, crash, number / options.every);
    }
    if (!isQuestion(snapshot.label)) await tryDamages(explored, snapshot);
  }
  for (let storms = 0; storms < options.storms; storms += 1) await tryStorm(explored, snapshots);
  return explored;
}

async function tryCrash(explored: Explored, snapshot: Snapshot, crash: Crash, number: number): Promise<void> {
  const { options, scenario, counts } = explored;
  const world = crashed(snapshot, crash, scenario);
  const again = number % options.doubleEvery === 0;
  const recovery = again ? await recoverWithSnapshots(world, options) : { run: await recover(explored, world) };
  counts.single += 1;
  note(explored, [crash], 'recovery', await judgeRecovery(world, recovery.run, explored.expected));
  if (number % options.afterwardsEvery === 0 && recovery.run.outcome === 'quiet') {
    counts.afterwards += 1;
    note(explored, [crash], 'afterwards', await tryAfterwards(explored, world));
  }
  if (!('snapshots' in recovery) || recovery.snapshots.length === 0) return;
  for (let tries = 0; tries < options.secondCrashes; tries += 1) {
    const second = pick(explored, recovery.snapshots);
    const next = pick(explored, crashesAt(second, options.randomVariants, explored.random));
    const after = crashed(second, next, scenario);
    const run = await recover(explored, after);
    counts.double += 1;
    note(explored, [crash, next], 'recovery', await judgeRecovery(after, run, explored.expected));
  }
}

/** Kills the agent and damages a state file. A damaged journal loses only what no other file records. */
async function tryDamages(explored: Explored, snapshot: Snapshot): Promise<void> {
  for (let tries = 0; tries < explored.options.damages; tries += 1) {
    const variant = Math.floor(explored.random() * damages);
    const crash: Crash = { point: snapshot.index, kind: 'damage', variant };
    const world = crashed(snapshot, crash, explored.scenario);
    const run = await recover(explored, world);
    explored.counts.damaged += 1;
    note(explored, [crash], 'recovery', await judgeRecovery(world, run, { ...explored.expected, damaged: true }));
  }
}

const mostCrashes = 8;

/** Crashes again in each recovery, until one recovery completes. */
async function tryStorm(explored: Explored, snapshots: readonly Snapshot[]): Promise<void> {
  const { scenario, options, random, expected } = explored;
  const snapshot = pick(explored, snapshots);
  const crashes = [pick(explored, crashesAt(snapshot, options.randomVariants, random))];
  const world = crashed(snapshot, crashes[0] as Crash, scenario);
  let at = await recoverWithSnapshots(world, options);
  while (crashes.length < mostCrashes && at.snapshots.length > 0) {
    const next = pick(explored, at.snapshots);
    const crash = pick(explored, crashesAt(next, options.randomVariants, random));
    crashes.push(crash);
    Object.assign(world, crashed(next, crash, scenario));
    at = await recoverWithSnapshots(world, options);
  }
  explored.counts.storms += 1;
  note(explored, crashes, 'recovery', await judgeRecovery(world, at.run, { ...expected, stormy: true }));
}

/** With the network back, a good release that is requested by its version must be installed. */
export async function tryAfterwards(
  { scenario, expected, options }: Pick<Explored, 'scenario' | 'expected'> & { options?: ExploreOptions },
  world: World,
): Promise<string[]> {
  killAgent(world, false);
  world.engine.registry = 'up';
  world.engine.pullsLeft = null;
  const version = scenario.afterwards;
  const request = { kind: 'update', version, offered: version } as const;
  const run = await runAgent(world, { request, ...options?.flaw });
  const faults = await judge(world, run, expected);
  const current = readFileNow(world, 'current_version.txt');
  if (current !== `${version}\n`) faults.push(`asked for ${version}, ended on ${current?.trim() ?? 'nothing'}`);
  return faults;
}

export async function judgeRecovery(world: World, run: AgentRun, expected: Expectation): Promise<string[]> {
  return [...(await judge(world, run, expected)), ...judgeAbsence(run, expected)];
}

async function runWithSnapshots(
  world: World,
  options: AgentRunOptions,
  quietEvery: number,
): Promise<{ run: AgentRun; snapshots: Snapshot[] }> {
  const { kept, onPoint } = createSnapshots(world, quietEvery);
  return { run: await runAgent(world, { ...options, onPoint }), snapshots: kept };
}

const recoverWithSnapshots = (world: World, options: ExploreOptions): ReturnType<typeof runWithSnapshots> =>
  runWithSnapshots(world, recoveryOf(options), options.quietEvery);
const recoveryOf = ({ flaw }: ExploreOptions): AgentRunOptions => ({ request: { kind: 'none' }, ...flaw });
const recover = ({ options }: Explored, world: World): Promise<AgentRun> => runAgent(world, recoveryOf(options));

const pick = <T>({ random }: Explored, list: readonly T[]): T => list[Math.floor(random() * list.length)] as T;

function note(
  { badEnds, scenario }: Explored,
  crashes: readonly Crash[],
  stage: string,
  faults: readonly string[],
): void {
  if (faults.length > 0) badEnds.push({ replay: describeCrashes(scenario, crashes), stage, faults });
}
