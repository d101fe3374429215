/**
 * Repeats one run and prints every step: `npx node tests/faults/replay.ts 'SCENARIO@POINT:KIND:VARIANT,…'`, or
 * `'SCENARIO@fault:KIND:NUMBER:MILLISECONDS'`, as a wrong result prints it.
 */
import { runAgent } from './agent-run.ts';
import { applyCrash, readCrashes } from './crashes.ts';
import { judgeRecovery, tryAfterwards } from './explorer.ts';
import { tryFault, type Fault } from './fault-explorer.ts';
import { expectationOf, prepare, type Scenario, scenarioNamed } from './scenarios.ts';
import { readFileNow } from './world.ts';

const log = (line: string): void => void process.stdout.write(`${line}\n`);

async function replayCrashes(scenario: Scenario, list: string): Promise<void> {
  const world = await prepare(scenario);
  const crashes = readCrashes(list);
  const damaged = crashes.some(({ kind }) => kind === 'damage');
  const expected = { ...expectationOf(scenario, world.ids), damaged, stormy: crashes.length > 2 };
  const onPoint = (index: number, label: string): void => log(`  ${index} at ${world.time.monotonicMs} ms: ${label}`);
  let run = await runAgent(world, { request: scenario.request, endAt: crashes[0]?.point ?? null, onPoint });
  for (const [index, crash] of crashes.entries()) {
    log(`crash: ${JSON.stringify(crash)}`);
    applyCrash(world, crash, scenario);
    run = await runAgent(world, { request: { kind: 'none' }, endAt: crashes[index + 1]?.point ?? null, onPoint });
  }
  log(JSON.stringify({ ...run, answer: null }));
  log(readFileNow(world, 'journal.json') ?? 'no journal');
  log(`wrong after the recovery: ${JSON.stringify(await judgeRecovery(world, run, expected))}`);
  if (run.outcome === 'quiet') {
    log(`wrong afterwards: ${JSON.stringify(await tryAfterwards({ scenario, expected }, world))}`);
  }
}

async function replayFault(scenario: Scenario, text: string): Promise<void> {
  const [kind, at, lastsMs] = text.split(':');
  const fault: Fault = { kind: kind as Fault['kind'], at: Number(at), lastsMs: Number(lastsMs) };
  log(`wrong: ${JSON.stringify(await tryFault(scenario, fault, log))}`);
}

const [name = '', what = ''] = (process.argv[2] ?? '').split('@');
const scenario = scenarioNamed(name);
if (what.startsWith('fault:')) await replayFault(scenario, what.slice('fault:'.length));
else await replayCrashes(scenario, what);
