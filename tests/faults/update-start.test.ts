import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StartAnswer } from '@station/agent/core/stack-port';
import { runAgent } from './agent-run.ts';
import { describe as describeContainer } from './engine-state.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, scenarioNamed } from './scenarios.ts';
import { engineOffline } from './simulated-engine.ts';
import { copyWorld, cutPower, flushWorld, type World } from './world.ts';

const quiet = { kind: 'none' } as const;

/** The state after an operator's `docker compose stop`. */
function stopStack(world: World): void {
  const stop = { status: 'exited', exitCode: 0 } as const;
  for (const one of [...world.engine.live.containers.values()])
    world.engine.live.containers.set(one.id, { ...one, ...stop });
}

const running = ({ engine, time }: World): string[] =>
  [...engine.live.containers.values()]
    .filter((one) => describeContainer(engine, one, time.monotonicMs).state === 'running')
    .map(({ service }) => service)
    .sort();

describe('a stack that is down at the agent’s start', () => {
  for (const start of ['in a later boot', 'in the same boot'] as const) {
    test(`stays down without BOOTSTRAP_ON_START, ${start}`, async () => {
      const world = await prepare(scenarioNamed('rollback-good'));
      stopStack(world);
      flushWorld(world);
      if (start === 'in a later boot') cutPower(world, 0);
      const run = await runAgent(world, { request: quiet, bootstrapOnStart: false });
      assert.deepEqual(running(world), []);
      assert.ok(!run.events.includes('bootstrap_start') && !run.events.includes('docker_restart'));
      assert.deepEqual(run.conditions, ['manifest_unreachable']);
    });

    test(`is brought up with it, ${start}`, async () => {
      const scenario = scenarioNamed('rollback-good');
      const world = await prepare(scenario);
      stopStack(world);
      flushWorld(world);
      if (start === 'in a later boot') cutPower(world, 0);
      const run = await runAgent(world, { request: quiet });
      assert.ok(run.events.includes('bootstrap_done'));
      assert.deepEqual(await judge(world, run, expectationOf(scenario, world.ids)), []);
    });
  }

  test('stays down when the agent finds it for the first time', async () => {
    const world = await prepare(scenarioNamed('older-agent'));
    stopStack(world);
    const run = await runAgent(world, { request: quiet, bootstrapOnStart: false });
    assert.ok(run.events.includes('stack_adopted'));
    assert.deepEqual(running(world), []);
    assert.ok(!run.events.includes('docker_restart'));
  });

  test('is brought up without it when an interrupted operation of the agent stopped it', async () => {
    const scenario = scenarioNamed('update-good');
    const world = await prepare(scenario);
    let switching: number | null = null;
    const probe = await runAgent(copyWorld(world), {
      request: scenario.request,
      onPoint: (index, label) => {
        if (label.startsWith('engine.up, ')) switching ??= index;
      },
    });
    assert.equal(probe.outcome, 'quiet');
    assert.ok(switching !== null);
    const ended = await runAgent(world, { request: scenario.request, endAt: switching });
    assert.equal(ended.outcome, 'ended');
    stopStack(world);
    cutPower(world, 1);
    stopStack(world);
    const run = await runAgent(world, { request: quiet, bootstrapOnStart: false });
    assert.ok(run.events.includes('update_completed'), run.events.join());
    assert.deepEqual(await judge(world, run, expectationOf(scenario, world.ids - 1)), []);
  });
});

describe('a request right after the agent’s start', () => {
  const codeOf = (answer: StartAnswer): string => (answer.kind === 'refused' ? answer.code : answer.kind);

  test('waits for the first check of the state, also before the loop runs, and is then answered', async () => {
    const scenario = scenarioNamed('update-by-name');
    const world = await prepare(scenario);
    const run = await runAgent(world, { request: scenario.request, askAtOnce: true });
    assert.equal(run.answer?.kind, 'started');
    assert.ok(run.events.includes('update_completed'));
    assert.deepEqual(await judge(world, run, expectationOf(scenario, world.ids - 1)), []);
  });

  test('is refused as unavailable when the engine does not answer', async () => {
    const scenario = scenarioNamed('older-agent');
    const world = await prepare(scenario);
    let calls = 0;
    const engineFault = () => ((calls += 1) <= 3 ? engineOffline() : null);
    const request = { kind: 'update', version: null, offered: '2.0.0' } as const;
    const run = await runAgent(world, { request, askAtOnce: true, engineFault });
    assert.ok(run.answer);
    assert.equal(codeOf(run.answer), 'unavailable');
    assert.ok(run.answer.kind === 'refused' && run.answer.message.includes('engine does not answer'));
  });

  test('reports that the agent is still starting when the first check takes too long', async () => {
    const world = await prepare(scenarioNamed('older-agent'));
    const request = { kind: 'update', version: null, offered: '2.0.0' } as const;
    const run = await runAgent(world, {
      request,
      askAtOnce: true,
      wrapEngine: (engine) => {
        let isFirst = true;
        return {
          ...engine,
          containers: async () => {
            const begunMs = world.time.monotonicMs;
            // Longer than the request waits; its clock jumps.
            while (isFirst && world.time.monotonicMs - begunMs < 5_000) await new Promise(setImmediate);
            isFirst = false;
            return engine.containers();
          },
        };
      },
    });
    assert.ok(run.answer?.kind === 'refused');
    assert.equal(run.answer.code, 'unavailable');
    assert.match(run.answer.message, /still starting/);
    assert.ok(!run.raised.includes('engine_unreachable'));
  });
});
