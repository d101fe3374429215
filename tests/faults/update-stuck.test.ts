import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StackEngine } from '@station/agent/stack/stack-ports';
import { runAgent, type AgentRun, type Request } from './agent-run.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, scenarios, type Scenario } from './scenarios.ts';
import { readFileNow, type World } from './world.ts';

/** The agent runs for hours while the engine can start nothing, because another program uses the port. */
const hour = 3600_000;
const [scenario] = scenarios as readonly [Scenario, ...Scenario[]];
const offered: Request = { kind: 'automatic', version: '2.0.0' };

/** An engine that starts nothing until `freeMs` of the world's time. */
function takenPort(world: World, freeMs: number) {
  const pulled: string[] = [];
  let failedUps = 0;
  const wrapEngine = (engine: StackEngine): StackEngine => ({
    ...engine,
    pull: async (reference, ...rest) => {
      pulled.push(reference);
      return engine.pull(reference, ...rest);
    },
    up: async (signal) => {
      if (world.time.monotonicMs >= freeMs) return engine.up(signal);
      failedUps += 1;
      return { kind: 'failed', reason: 'the port is taken' };
    },
  });
  return { pulled, wrapEngine, failedUps: () => failedUps };
}

const count = (run: AgentRun, name: string): number => run.events.filter((event) => event === name).length;
const current = (world: World): string | undefined => readFileNow(world, 'current_version.txt')?.trim();

test('a release that failed to start like the previous one waits until the stack runs', async () => {
  const world = await prepare(scenario);
  const port = takenPort(world, world.time.monotonicMs + 1.5 * hour);
  const run = await runAgent(world, { request: offered, wrapEngine: port.wrapEngine });
  assert.ok(port.failedUps() > 20, 'the stack was brought up repeatedly');
  // Once while nothing could be started, and once when everything could.
  assert.deepEqual([count(run, 'update_start'), port.pulled.length], [2, 4]);
  assert.equal(count(run, 'image_removed'), 2, 'only what 1.0.0 had');
  assert.equal(current(world), '2.0.0');
  assert.deepEqual(await judge(world, run, { ...expectationOf(scenario, world.ids), disturbed: true }), []);
});

test('a request for it is accepted meanwhile', async () => {
  const world = await prepare(scenario);
  const startMs = world.time.monotonicMs;
  const port = takenPort(world, startMs + 1.5 * hour);
  const asked: Promise<{ kind: string }>[] = [];
  const run = await runAgent(world, {
    request: offered,
    wrapEngine: port.wrapEngine,
    onSleep: ({ stack, keeper }) => {
      if (world.time.monotonicMs < startMs + hour || keeper.operation()) return;
      if (asked.length === 0) asked.push(stack.update(null));
    },
  });
  assert.deepEqual(
    (await Promise.all(asked)).map(({ kind }) => kind),
    ['started'],
  );
  assert.deepEqual([count(run, 'update_start'), port.pulled.length], [3, 6]);
  assert.equal(current(world), '2.0.0');
});
