import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runAgent, type AgentRun } from './agent-run.ts';
import type { LayerCondition } from './engine-storage.ts';
import type { RegistryState } from './engine-state.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, scenarioNamed } from './scenarios.ts';
import { cutPower, imageIdOf, type World } from './world.ts';

/**
 * Images that were complete before a boot and are damaged after it: the pull of another program was not synced, or the SD card is
 * worn. This cannot happen to images that the agent pulled.
 */
const scenario = scenarioNamed('bring-up-at-boot');

async function bootWith(damaged: Record<string, LayerCondition>, registry: RegistryState): Promise<World> {
  const world = await prepare(scenario);
  for (const storage of [world.engine.live, world.engine.durable]) {
    for (const [id, condition] of Object.entries(damaged)) storage.layers.set(id, { condition, serial: 0 });
  }
  cutPower(world, 0);
  world.engine.registry = registry;
  return world;
}

async function faultsOf(world: World, run: AgentRun): Promise<string[]> {
  return judge(world, run, { ...expectationOf(scenario, world.ids), disturbed: true });
}

const backend = imageIdOf('backend', '1.1.0');

describe('an installed release whose image is damaged', () => {
  test('is pulled again and started', async () => {
    const world = await bootWith({ [backend]: 'unusable' }, 'up');
    const run = await runAgent(world, { request: { kind: 'none' } });
    assert.ok(run.events.includes('image_healed'));
    assert.deepEqual(await faultsOf(world, run), []);
  });

  test('starts as soon as the network is back, with a condition until then', async () => {
    const world = await bootWith({ [backend]: 'unusable' }, 'down');
    const backMs = world.time.monotonicMs + 20 * 60_000;
    const run = await runAgent(world, {
      request: { kind: 'none' },
      onPoint: () => {
        if (world.time.monotonicMs > backMs) world.engine.registry = 'up';
      },
    });
    assert.deepEqual(await faultsOf(world, run), []);
    assert.ok(run.raised.includes('stack_unhealthy'));
    assert.ok(!run.conditions.includes('stack_unhealthy'));
  });
});

test('verifies the images of the previous release at a rollback', async () => {
  const world = await bootWith({ [imageIdOf('backend', '1.0.0')]: 'unusable' }, 'up');
  const run = await runAgent(world, { request: { kind: 'rollback' } });
  assert.ok(run.events.includes('image_healed'));
  assert.deepEqual(await faultsOf(world, run), []);
});
