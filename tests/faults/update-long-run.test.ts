import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runAgent, type AgentRunOptions } from './agent-run.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, scenarios, type Scenario } from './scenarios.ts';
import { imageIdOf, type World } from './world.ts';

/** Changes of the world while an agent is idle for hours. */
const hour = 3600_000;
const minute = 60_000;

const [scenario] = scenarios as readonly [Scenario, ...Scenario[]];

/** A change of the world at a time after the start. */
type WorldChange = { afterMs: number; apply: () => void };

/** @returns the conditions at each wait of the agent, with the time since the start. */
async function run(world: World, options: Partial<AgentRunOptions>, changes: WorldChange[] = []) {
  const startMs = world.time.monotonicMs;
  const stood: { atMs: number; conditions: string[] }[] = [];
  const last = await runAgent(world, {
    request: { kind: 'none' },
    ...options,
    onSleep: ({ conditions }) => {
      const atMs = world.time.monotonicMs - startMs;
      while (changes[0] && changes[0].afterMs <= atMs) changes.shift()?.apply();
      stood.push({ atMs, conditions: conditions.list().map(({ id }) => id) });
    },
  });
  assert.equal(last.outcome, 'quiet', String(last.surprise));
  assert.deepEqual(changes, []);
  const holds = (id: string, fromMs: number, toMs: number): boolean[] => [
    ...new Set(stood.filter(({ atMs }) => atMs >= fromMs && atMs < toMs).map((one) => one.conditions.includes(id))),
  ];
  return { last, holds };
}

test('clock_behind clears once the clock is set', async () => {
  const world = await prepare(scenario);
  world.time.wallMs -= 48 * hour;
  const setClock = (): void => {
    world.time.wallMs += 48 * hour;
  };
  const { holds } = await run(world, { stayMs: 20 * minute }, [{ afterMs: 10 * minute, apply: setClock }]);
  assert.deepEqual(holds('clock_behind', minute, 10 * minute), [true]);
  assert.deepEqual(holds('clock_behind', 11 * minute, hour), [false]);
});

test('pins pruned images again at the next release poll, and reports those that are gone', async () => {
  const world = await prepare(scenario);
  const prune = (): void => {
    const { live } = world.engine;
    live.pins.clear();
    for (const service of ['backend', 'frontend']) live.images.delete(imageIdOf(service, '1.0.0'));
  };
  const { last, holds } = await run(world, { stayMs: 3 * hour }, [{ afterMs: 10 * minute, apply: prune }]);
  const { live } = world.engine;
  for (const service of ['backend', 'frontend']) assert.ok(live.pins.has(imageIdOf(service, '1.1.0')), service);
  assert.deepEqual(holds('rollback_unavailable', minute, 9 * minute), [false]);
  assert.ok(last.conditions.includes('rollback_unavailable'));
});

describe('the condition of a failed update', () => {
  const noRoom: Partial<AgentRunOptions> = {
    wrapEngine: (engine) => ({ ...engine, freeBytes: async () => 1_000_000 }),
  };

  test('remains while the update is retried automatically', async () => {
    const world = await prepare(scenario);
    const { last } = await run(world, {
      ...noRoom,
      request: { kind: 'automatic', version: '2.0.0' },
      stayMs: 5 * hour,
    });
    assert.ok(last.events.filter((event) => event === 'update_failed').length > 5);
    assert.ok(last.conditions.includes('disk_space_low'));
    assert.equal(last.raised.filter((id) => id === 'disk_space_low').length, 1);
  });

  test('clears when the release is withdrawn', async () => {
    const world = await prepare(scenario);
    const request = { kind: 'automatic' as const, version: '2.0.0' };
    const withdraw = (): void => {
      request.version = '1.1.0';
    };
    const changes = [{ afterMs: hour, apply: withdraw }];
    const { last, holds } = await run(world, { ...noRoom, request, stayMs: 4 * hour }, changes);
    assert.deepEqual(holds('disk_space_low', 5 * minute, hour), [true]);
    assert.ok(!last.conditions.includes('disk_space_low'));
    assert.deepEqual(await judge(world, last, { ...expectationOf(scenario, world.ids), disturbed: true }), []);
  });

  test('clears at the next check when only a person would retry', async () => {
    const world = await prepare(scenario);
    const request = { kind: 'update', version: null, offered: '2.0.0' } as const;
    const { last } = await run(world, { ...noRoom, request, stayMs: 3 * hour });
    assert.ok(last.raised.includes('disk_space_low'));
    assert.ok(!last.conditions.includes('disk_space_low'));
  });
});
