import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StackEngine } from '@station/agent/stack/stack-ports';
import { runAgent, type AgentRun, type Request } from './agent-run.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, type Scenario } from './scenarios.ts';
import { imageIdOf, type World } from './world.ts';

/** A disk on which an image takes three times the size of its compressed layer. */
const imageBytes = 3_000_000;
const reserveBytes = 32 * 1024 * 1024;

/** An engine whose disk has space for only a given number of images. */
const smallEngine =
  (world: World, images: number) =>
  (engine: StackEngine): StackEngine => {
    const free = (): number => (images - world.engine.live.images.size) * imageBytes;
    return {
      ...engine,
      freeBytes: async () => reserveBytes + free(),
      pull: async (reference, onProgress, signal) => {
        const image = world.engine.catalogue.published.get(reference);
        if (free() >= imageBytes || (image && world.engine.live.images.has(image.id)))
          return engine.pull(reference, onProgress, signal);
        return { kind: 'failed', code: 'disk_space_low', reason: 'the disk is full', transient: false };
      },
    };
  };

const scenario: Scenario = {
  name: 'small-disk',
  start: 'installed',
  request: { kind: 'none' },
  releases: [{ version: '2.0.0' }, { version: '3.0.0' }],
  recovery: 'down',
  afterwards: '3.0.0',
};

/** A station with 1.1.0 and the rollback target 1.0.0. Its update to 2.0.0 lost the registry halfway. */
async function halfFetched(): Promise<World> {
  const world = await prepare(scenario);
  world.engine.pullsLeft = 1;
  await ask(world, { kind: 'update', version: null, offered: '2.0.0' }, 100);
  assert.equal(fetchedOf(world, '2.0.0').length, 1, 'one of two images came');
  world.engine.registry = 'up';
  world.engine.pullsLeft = null;
  return world;
}

const ask = (world: World, request: Request, images: number): Promise<AgentRun> =>
  runAgent(world, { request, wrapEngine: smallEngine(world, images) });

const fetchedOf = (world: World, version: string): string[] =>
  ['backend', 'frontend'].filter((service) => world.engine.live.images.has(imageIdOf(service, version)));

async function result(run: AgentRun): Promise<string | undefined> {
  assert.ok(run.answer?.kind === 'started', JSON.stringify(run.answer));
  const entry = await run.answer.ended;
  return entry?.result === 'failed' ? `${entry.result}: ${entry.code}` : entry?.result;
}

async function assertGoodEnd(world: World, run: AgentRun): Promise<void> {
  assert.deepEqual(await judge(world, run, expectationOf(scenario, world.ids - 1)), []);
}

describe('on a small disk, after an incomplete pull', () => {
  // MQTT, two releases of two images, and one image of the release that failed.
  const present = 6;

  test('the same release needs space only for what is missing', async () => {
    const world = await halfFetched();
    const run = await ask(world, { kind: 'update', version: null, offered: '2.0.0' }, present + 1);
    assert.equal(await result(run), 'updated');
    await assertGoodEnd(world, run);
  });

  test('another release gets the space of images that are no longer needed', async () => {
    const world = await halfFetched();
    const run = await ask(world, { kind: 'update', version: null, offered: '3.0.0' }, present + 1);
    assert.equal(await result(run), 'updated');
    assert.deepEqual(fetchedOf(world, '2.0.0'), []);
    await assertGoodEnd(world, run);
  });

  test('images of the installed and the kept release stay, even when the space is too small', async () => {
    const world = await halfFetched();
    const run = await ask(world, { kind: 'update', version: null, offered: '3.0.0' }, present);
    assert.equal(await result(run), 'failed: disk_space_low');
    assert.deepEqual(fetchedOf(world, '2.0.0'), []);
    for (const version of ['1.0.0', '1.1.0']) assert.equal(fetchedOf(world, version).length, 2);
    await assertGoodEnd(world, run);
  });

  test('a release is fetched after space is freed, when the disk turns out too small during the pull', async () => {
    const world = await halfFetched();
    const small = smallEngine(world, present + 1);
    // Without sizes from the registry, only the pull finds out.
    const wrapEngine = (engine: StackEngine): StackEngine => ({
      ...small(engine),
      layers: async () => ({ kind: 'unknown' }),
    });
    const run = await runAgent(world, { request: { kind: 'update', version: null, offered: '3.0.0' }, wrapEngine });
    assert.equal(await result(run), 'updated');
    await assertGoodEnd(world, run);
  });
});
