import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runAgent, type AgentRun } from './agent-run.ts';
import type { LayerCondition } from './engine-storage.ts';
import type { RegistryState } from './engine-state.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, scenarioNamed } from './scenarios.ts';
import { bootId, cutPower, imageIdOf, readFileNow, reference, services, type World } from './world.ts';

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

/** Somebody else has fetched the release, and the power was cut before it was on disk. */
async function updateAfterForeignPull(condition: LayerCondition, registryAfterwards: RegistryState) {
  const update = scenarioNamed('update-good');
  const world = await prepare(update);
  for (const storage of [world.engine.live, world.engine.durable]) {
    for (const service of services) {
      const image = world.engine.catalogue.published.get(reference(service, '2.0.0'));
      if (!image) throw new Error('the release is not published');
      storage.images.set(image.id, { references: [reference(service, '2.0.0'), image.digest] });
      storage.layers.set(image.id, { condition, serial: 0 });
    }
  }
  cutPower(world, 0);
  const run = await runAgent(world, {
    request: update.request,
    onPoint: (_, label) => {
      if (label === 'engine.checkImages') world.engine.registry = registryAfterwards;
    },
  });
  const { journal } = JSON.parse(readFileNow(world, 'journal.json') ?? '') as {
    journal: { installed: { version: string }; quarantined: { version: string }[]; history: { code: string }[] };
  };
  return { world, run, journal };
}

describe('a good release whose images were damaged before its update', () => {
  for (const condition of ['damaged', 'unusable'] as const) {
    test(`is made again and installed, not blamed (${condition})`, async () => {
      const { run, journal } = await updateAfterForeignPull(condition, 'up');
      assert.equal(journal.installed.version, '2.0.0');
      assert.deepEqual(journal.quarantined, []);
      assert.ok(run.events.includes('images_damaged') && run.events.includes('image_healed'));
      assert.ok(!run.events.includes('rollback_started'));
    });
  }

  test('is left without a quarantine when it cannot be healed now, and the condition says so', async () => {
    const { run, journal } = await updateAfterForeignPull('damaged', 'down');
    assert.equal(journal.installed.version, '1.1.0');
    assert.deepEqual([journal.quarantined, journal.history[0]?.code], [[], 'image_damaged']);
    assert.ok(run.events.includes('images_not_healed'));
    assert.ok(run.conditions.includes('image_damaged'));
  });
});

describe('the check after a boot', () => {
  const trusted = (world: World): unknown =>
    (JSON.parse(readFileNow(world, 'journal.json') ?? '') as { journal: { imagesTrustedIn: unknown } }).journal
      .imagesTrustedIn;

  test('finds damage in an image that nothing has started, and heals it', async () => {
    const kept = imageIdOf('backend', '1.0.0');
    const world = await bootWith({ [kept]: 'damaged' }, 'up');
    const run = await runAgent(world, { request: { kind: 'none' }, stayMs: 60_000 });
    assert.ok(run.events.includes('image_healed'));
    assert.equal(world.engine.live.layers.get(kept)?.condition, 'whole');
    assert.equal(trusted(world), bootId(world));
    assert.deepEqual(await faultsOf(world, run), []);
  });

  test('tries again after an hour what it cannot heal', async () => {
    const kept = imageIdOf('backend', '1.0.0');
    const world = await bootWith({ [kept]: 'damaged' }, 'down');
    const startedMs = world.time.monotonicMs;
    const run = await runAgent(world, {
      request: { kind: 'none' },
      stayMs: 90 * 60_000,
      onSleep: () => {
        if (world.time.monotonicMs - startedMs > 30 * 60_000) world.engine.registry = 'up';
      },
    });
    assert.ok(run.raised.includes('image_damaged') && !run.conditions.includes('image_damaged'));
    assert.ok(run.events.filter((event) => event === 'images_damaged').length <= 3);
    assert.equal(world.engine.live.layers.get(kept)?.condition, 'whole');
  });

  test('is left out after a clean stop', async () => {
    const world = await bootWith({}, 'up');
    await runAgent(world, { request: { kind: 'none' }, stayMs: 60_000, stopsCleanly: true });
    assert.equal(trusted(world), 'stopped cleanly');
    cutPower(world, 0);
    let checks = 0;
    await runAgent(world, {
      request: { kind: 'none' },
      stayMs: 60_000,
      onPoint: (_, label) => {
        if (label === 'engine.checkImages') checks += 1;
      },
    });
    assert.deepEqual([checks, trusted(world)], [0, bootId(world)]);
  });
});
