import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StackEngine } from '@station/agent/stack/stack-ports';
import { overrideFile, stateFiles } from '@station/agent/stack/state-files';
import { join } from 'node:path';
import { conditionOf, probeStack, pruneImages, type Behaviour } from './engine-state.ts';
import { createProcess, Ended } from './process.ts';
import { createSimulatedEngine } from './simulated-engine.ts';
import { pass } from './virtual-clock.ts';
import {
  copyWorld,
  createCatalogue,
  createWorld,
  cutPower,
  dataDir,
  flushWorld,
  imageIdOf,
  killAgent,
  putFile,
  readProject,
  reference,
  services,
  type World,
} from './world.ts';

const { signal } = new AbortController();
const ignore = (): void => undefined;

function engineOf(world: World, endAt: number | null = null): StackEngine {
  const process = createProcess({ endAt });
  return createSimulatedEngine({
    state: world.engine,
    time: world.time,
    process,
    readProject: () => readProject(world),
  });
}

/** Pins a release in the override file, as the agent does. */
function pin(world: World, version: string): void {
  const imageIds = Object.fromEntries(services.map((service) => [service, imageIdOf(service, version)]));
  const text = overrideFile({ version, images: {}, imageIds, digests: {}, layers: {} });
  putFile(world.disk, join(dataDir, stateFiles.updateOverride), text);
}

async function pull(engine: StackEngine, version: string): Promise<void> {
  for (const service of services) await engine.pull(reference(service, version), ignore, signal);
}

/** A station on which 1.0.0 runs, completely on disk. */
async function createStation(behaviour: Behaviour = 'good'): Promise<{ world: World; engine: StackEngine }> {
  const world = createWorld(createCatalogue([{ version: '1.0.0' }, { version: '2.0.0', behaviour }]), '1.0.0');
  putFile(world.disk, dataDir, null);
  const engine = engineOf(world);
  await pull(engine, '1.0.0');
  pin(world, '1.0.0');
  assert.equal((await engine.up(signal)).kind, 'ok');
  pass(world.time, 5000);
  flushWorld(world);
  return { world, engine };
}

const runningImages = async (engine: StackEngine): Promise<Record<string, string>> => {
  const containers = await engine.containers();
  return Object.fromEntries(
    containers.filter((one) => one.state === 'running').map((one) => [one.service, one.imageId]),
  );
};
const imagesOf = (version: string): Record<string, string> => ({
  mqtt: imageIdOf('mqtt', '2'),
  backend: imageIdOf('backend', version),
  frontend: imageIdOf('frontend', version),
});
/** The conditions of an image after power cuts with many variants. */
const found = (world: World, id: string): Set<string> =>
  new Set(
    Array.from({ length: 100 }, (_, variant) => {
      const copy = copyWorld(world);
      cutPower(copy, variant);
      return copy.engine.live.images.has(id) ? conditionOf(copy.engine.live, id) : 'absent';
    }),
  );

describe('images on the simulated engine', () => {
  test('may be broken, damaged or gone after a cut, unless there was a sync', async () => {
    const { world, engine } = await createStation();
    await pull(engine, '2.0.0');
    const id = imageIdOf('backend', '2.0.0');
    assert.deepEqual(found(world, id), new Set(['whole', 'absent', 'unusable', 'damaged']));
    assert.deepEqual(found(world, imageIdOf('backend', '1.0.0')), new Set(['whole']));
    await engine.sync();
    assert.deepEqual(found(world, id), new Set(['whole']));
  });

  test('that are broken are repaired only by removing and pulling them', async () => {
    const { world, engine } = await createStation();
    await pull(engine, '2.0.0');
    const id = imageIdOf('backend', '2.0.0');
    world.engine.live.layers.set(id, { condition: 'unusable', serial: 0 });
    assert.equal(await engine.pinImage(id), 'broken');
    await pull(engine, '2.0.0');
    assert.deepEqual(
      [await engine.pinImage(id), (await engine.checkImages([id], { isIdle: false, signal })).get(id)],
      ['broken', 'damaged'],
    );
    pin(world, '2.0.0');
    assert.equal((await engine.up(signal)).kind, 'failed');
    for (const service of services) await engine.removeImage(imageIdOf(service, '2.0.0'), { force: true });
    await pull(engine, '2.0.0');
    assert.deepEqual(
      [await engine.pinImage(id), (await engine.checkImages([id], { isIdle: false, signal })).get(id)],
      ['pinned', 'whole'],
    );
    assert.equal((await engine.up(signal)).kind, 'ok');
  });

  test('are pruned unless a container or a pin needs them', async () => {
    const { world, engine } = await createStation();
    await pull(engine, '2.0.0');
    await engine.pinImage(imageIdOf('backend', '2.0.0'));
    pruneImages(world.engine);
    assert.notEqual(await engine.imageId(reference('backend', '2.0.0')), null);
    assert.equal(await engine.imageId(reference('frontend', '2.0.0')), null);
    assert.notEqual(await engine.imageId(reference('frontend', '1.0.0')), null);
  });

  test('in use by a running container cannot be removed', async () => {
    const { engine } = await createStation();
    assert.equal(await engine.removeImage(imageIdOf('backend', '1.0.0'), { force: true }), 'in_use');
    assert.equal(await engine.removeImage(imageIdOf('backend', '9.9.9'), { force: true }), 'absent');
  });
});

describe('the simulated up', () => {
  test('replaces the containers of what is pinned, and only those', async () => {
    const { world, engine } = await createStation();
    const before = (await engine.containers()).find((one) => one.service === 'mqtt');
    await pull(engine, '2.0.0');
    pin(world, '2.0.0');
    const answer = await engine.up(signal);
    assert.ok(answer.kind === 'ok' && answer.stoppedAtMs !== null);
    assert.deepEqual(await runningImages(engine), imagesOf('2.0.0'));
    assert.equal((await engine.containers()).find((one) => one.service === 'mqtt')?.id, before?.id);
  });

  test('does nothing when the stack is already correct', async () => {
    const { engine } = await createStation();
    const before = await engine.containers();
    assert.deepEqual(await engine.up(signal), { kind: 'ok', stoppedAtMs: null });
    assert.deepEqual(await engine.containers(), before);
  });

  test('falls back to the images of the compose file when nothing is pinned', async () => {
    const { world, engine } = await createStation();
    putFile(world.disk, join(dataDir, stateFiles.updateOverride), overrideFile(null));
    await engine.up(signal);
    assert.equal(
      (await engine.containers()).find((one) => one.service === 'backend')?.image,
      reference('backend', '1.0.0'),
    );
  });

  test('fails without the override file that the project names, or with one that is no YAML', async () => {
    const { world, engine } = await createStation();
    for (const text of ['', '{{{', 'nonsense']) {
      putFile(world.disk, join(dataDir, stateFiles.updateOverride), text);
      assert.equal((await engine.up(signal)).kind, 'failed');
    }
    world.disk.names.delete(join(dataDir, stateFiles.updateOverride));
    assert.equal((await engine.up(signal)).kind, 'failed');
  });

  test('never fetches a missing pinned image', async () => {
    const { world, engine } = await createStation();
    pin(world, '2.0.0');
    assert.equal((await engine.up(signal)).kind, 'failed');
    assert.deepEqual(await runningImages(engine), imagesOf('1.0.0'));
  });

  test('killed halfway leaves two releases, or completes without its caller', async () => {
    const { world, engine } = await createStation();
    await pull(engine, '2.0.0');
    pin(world, '2.0.0');
    const mixed = { ...imagesOf('1.0.0'), backend: imageIdOf('backend', '2.0.0') };
    for (const orphan of [false, true]) {
      const copy = copyWorld(world);
      await assert.rejects(engineOf(copy, 7).up(signal), Ended);
      assert.deepEqual(await runningImages(engineOf(copy)), mixed);
      killAgent(copy, orphan);
      pass(copy.time, 60_000);
      assert.deepEqual(await runningImages(engineOf(copy)), orphan ? imagesOf('2.0.0') : mixed);
    }
  });
});

describe('containers after a power cut', () => {
  test('run again when Docker durably knew them', async () => {
    const { world, engine } = await createStation();
    for (let variant = 0; variant < 20; variant += 1) {
      const copy = copyWorld(world);
      cutPower(copy, variant);
      assert.deepEqual(await runningImages(engineOf(copy)), imagesOf('1.0.0'));
    }
    assert.ok(engine);
  });

  test('may be gone, created, exited or of both releases when up was not synced', async () => {
    const { world, engine } = await createStation();
    await pull(engine, '2.0.0');
    await engine.sync();
    pin(world, '2.0.0');
    await engine.up(signal);
    const states = new Set<string>();
    for (let variant = 0; variant < 100; variant += 1) {
      const copy = copyWorld(world);
      cutPower(copy, variant);
      const own = (await engineOf(copy).containers()).filter((one) => one.service === 'backend');
      states.add(
        own
          .map(({ state, imageId }) => `${imageId === imageIdOf('backend', '2.0.0') ? 'new' : 'old'} ${state}`)
          .sort()
          .join(),
      );
      // In each case, `up` repairs it.
      assert.equal((await engineOf(copy).up(signal)).kind, 'ok');
      assert.deepEqual(await runningImages(engineOf(copy)), imagesOf('2.0.0'));
    }
    for (const expected of ['', 'new created', 'new exited', 'new running', 'old running', 'new running,old running']) {
      assert.ok(states.has(expected), `${expected} of ${[...states].join('; ')}`);
    }
  });
});

describe('behaviours', () => {
  const health: readonly [Behaviour, number, boolean][] = [
    ['good', 1000, false],
    ['good', 5000, true],
    ['unhealthy', 60_000, false],
    ['crash-looping', 60_000, false],
    [{ kind: 'healthy-after', ms: 20_000 }, 15_000, false],
    [{ kind: 'healthy-after', ms: 20_000 }, 25_000, true],
    [{ kind: 'unhealthy-after', ms: 20_000 }, 15_000, true],
    [{ kind: 'unhealthy-after', ms: 20_000 }, 25_000, false],
  ];
  for (const [behaviour, afterMs, ok] of health) {
    test(`${JSON.stringify(behaviour)} is ${ok ? '' : 'not '}healthy ${afterMs} ms after its start`, async () => {
      const { world, engine } = await createStation(behaviour);
      await pull(engine, '2.0.0');
      pin(world, '2.0.0');
      await engine.up(signal);
      const started = [...world.engine.live.containers.values()].find((one) => one.service === 'backend')?.sinceMs ?? 0;
      pass(world.time, started + afterMs - world.time.monotonicMs);
      assert.equal(probeStack(world.engine, world.time).ok, ok);
    });
  }

  test('a crash loop is restarted with growing delays', async () => {
    const { world, engine } = await createStation('crash-looping');
    await pull(engine, '2.0.0');
    pin(world, '2.0.0');
    await engine.up(signal);
    const counts: number[] = [];
    for (let seconds = 0; seconds < 4; seconds += 1) {
      pass(world.time, 3000);
      counts.push((await engine.containers()).find((one) => one.service === 'backend')?.restartCount ?? 0);
    }
    assert.deepEqual(counts, [4, 5, 6, 6]);
  });

  test('a silent registry never answers until the request is aborted', async () => {
    const { world, engine } = await createStation();
    world.engine.registry = 'silent';
    const stop = new AbortController();
    const pulling = engine.pull(reference('backend', '2.0.0'), ignore, stop.signal);
    stop.abort(new Error('enough'));
    await assert.rejects(pulling, /enough/);
  });

  test('an offline registry reports it', async () => {
    const { world, engine } = await createStation();
    world.engine.registry = 'down';
    const answer = await engine.pull(reference('backend', '2.0.0'), ignore, signal);
    assert.ok(answer.kind === 'failed' && answer.transient);
    assert.equal((await engine.layers(reference('backend', '2.0.0'), signal)).kind, 'unknown');
  });
});
