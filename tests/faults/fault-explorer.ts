import { runAgent, type AgentRun } from './agent-run.ts';
import type { BadEnd } from './explorer.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, type Scenario } from './scenarios.ts';
import { systemError } from './simulated-disk.ts';
import { engineOffline } from './simulated-engine.ts';
import { pruneImages } from './engine-state.ts';
import { readFileNow, type World } from './world.ts';

/** A fault that does not end the agent, at the n-th operation of its kind. */
export type Fault = {
  kind: 'ENOSPC' | 'EIO' | 'engine-offline' | 'prune';
  at: number;
  /** Duration in virtual milliseconds; 0: one operation. */
  lastsMs: number;
};

/** Longest duration after which the result must equal that of a run without faults. */
const lastingMs = 40_000;

/**
 * Runs a scenario with one fault at each operation in turn. The agent must continue and reach the same result as without it.
 * @returns number of faults tried, and the bad ends.
 */
export async function exploreFaults(
  scenario: Scenario,
  options: { every: number },
): Promise<{ points: number; badEnds: BadEnd[] }> {
  const counts = await countOperations(scenario);
  const faults: Fault[] = [];
  for (let at = 1; at <= counts.disk; at += options.every) {
    for (const lastsMs of [0, lastingMs]) {
      faults.push({ kind: 'ENOSPC', at, lastsMs }, { kind: 'EIO', at, lastsMs });
    }
  }
  for (let at = 1; at <= counts.engine; at += options.every) {
    for (const lastsMs of [0, lastingMs]) faults.push({ kind: 'engine-offline', at, lastsMs });
    faults.push({ kind: 'prune', at, lastsMs: 0 });
  }
  const badEnds: BadEnd[] = [];
  for (const fault of faults) {
    const found = await tryFault(scenario, fault);
    const replay = `${scenario.name}@fault:${fault.kind}:${fault.at}:${fault.lastsMs}`;
    if (found.length > 0) badEnds.push({ replay, stage: 'fault', faults: found });
  }
  return { points: faults.length, badEnds };
}

export async function tryFault(scenario: Scenario, fault: Fault, log?: (line: string) => void): Promise<string[]> {
  const world = await prepare(scenario);
  const expected = expectationOf(scenario, world.ids);
  const run = await runWithFault(world, scenario, fault, log);
  log?.(JSON.stringify(run.events));
  log?.(readFileNow(world, 'journal.json') ?? '');
  const faults = await judge(world, run, { ...expected, disturbed: true });
  // A working release must be installed in any case.
  const wanted = scenario.request.kind === 'automatic' ? scenario.request.version : null;
  const current = readFileNow(world, 'current_version.txt')?.trim();
  if (wanted !== null && expected.healthy.includes(wanted) && scenario.pullsLeft === undefined && current !== wanted) {
    faults.push(`ended on ${current} instead of ${wanted}`);
  }
  return faults;
}

async function runWithFault(
  world: World,
  scenario: Scenario,
  fault: Fault,
  log?: (line: string) => void,
): Promise<AgentRun> {
  let disk = 0;
  let engine = 0;
  let sinceMs: number | null = null;
  const holds = (count: number): boolean => {
    if (count === fault.at) sinceMs = world.time.monotonicMs;
    return count === fault.at || (sinceMs !== null && world.time.monotonicMs < sinceMs + fault.lastsMs);
  };
  return runAgent(world, {
    request: scenario.request,
    onPoint: (index, label) => log?.(`${index} ${world.time.monotonicMs} ${label}`),
    diskFault: (operation, path) => {
      if (fault.kind !== 'ENOSPC' && fault.kind !== 'EIO') return null;
      const reads = operation === 'read' || operation === 'list';
      const frees = operation === 'remove' || operation === 'rename' || operation === 'sync';
      if (!holds((disk += 1)) || (fault.kind === 'ENOSPC' && (reads || frees))) return null;
      return systemError(fault.kind, operation, path);
    },
    engineFault: () => {
      if (fault.kind !== 'engine-offline' && fault.kind !== 'prune') return null;
      if (!holds((engine += 1))) return null;
      if (fault.kind === 'engine-offline') return engineOffline();
      pruneImages(world.engine);
      return null;
    },
  });
}

async function countOperations(scenario: Scenario): Promise<{ disk: number; engine: number }> {
  const counts = { disk: 0, engine: 0 };
  await runAgent(await prepare(scenario), {
    request: scenario.request,
    diskFault: () => {
      counts.disk += 1;
      return null;
    },
    engineFault: () => {
      counts.engine += 1;
      return null;
    },
  });
  return counts;
}
