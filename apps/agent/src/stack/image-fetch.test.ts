import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AgentLogger } from '@station/kit/logger';
import type { Release } from '@station/protocol/release';
import type { PullAnswer, StackEngine } from './stack-ports.ts';
import { fetchRelease, repullDamaged, type FetchParts } from './image-fetch.ts';

const release: Release = {
  version: '2.0.0',
  images: { backend: 'registry.test/backend:2.0.0', frontend: 'registry.test/frontend:2.0.0' },
  imageIds: { backend: 'sha256:b', frontend: 'sha256:f' },
  digests: { frontend: 'registry.test/frontend@sha256:d' },
  layers: {},
};
/** Of which nothing stays as installed. */
const toFetch: Release = { ...release, imageIds: {} };
const backend = 'registry.test/backend:2.0.0';
const frontend = 'registry.test/frontend@sha256:d';
const away: PullAnswer = { kind: 'failed', code: 'registry_unavailable', reason: 'no answer', transient: true };

/** `unread`: there is no room to read it through; `unpinnable`: not even to make a pin. */
type State = 'whole' | 'damaged' | 'broken' | 'absent' | 'unread' | 'unpinnable';

/** A machine with images in some state; a pull brings a whole one, unless the image is there already. */
function createMachine(
  images: Record<string, State>,
  registry: Record<string, PullAnswer> = {},
  repaired: () => boolean = () => false,
) {
  const calls: string[] = [];
  const events: string[] = [];
  const pinned = new Set<string>();
  let nowMs = 0;
  const idOf = (reference: string): string => (reference.includes('backend') ? 'sha256:b' : 'sha256:f');
  const engine: Partial<StackEngine> = {
    pull: async (reference, onProgress) => {
      calls.push(`pull ${reference}`);
      const answer = registry[reference];
      if (answer) return answer;
      for (let doneBytes = 0; doneBytes <= 10; doneBytes += 1) {
        nowMs += 300;
        onProgress({ doneBytes, totalBytes: 10 });
      }
      const id = idOf(reference);
      if ((images[id] ?? 'absent') === 'absent') images[id] = 'whole';
      return { kind: 'ok', imageId: id, digest: `${reference} as pulled` };
    },
    layers: async (reference) => {
      calls.push(`layers ${reference}`);
      return registry[reference] ? { kind: 'unknown' } : { kind: 'ok', layers: {} };
    },
    imageId: async (id) => ((images[id] ?? 'absent') === 'absent' ? null : id),
    pinImage: async (id) => {
      calls.push(`pin ${id}`);
      const state = images[id] ?? 'absent';
      if (pinned.has(id)) return 'pinned';
      if (state === 'absent' || state === 'broken') return state;
      if (state === 'unpinnable') return 'unknown';
      pinned.add(id);
      return 'pinned';
    },
    unpinImage: async (id) => {
      calls.push(`unpinImage ${id}`);
      pinned.delete(id);
    },
    removeImage: async (id) => {
      calls.push(`removeImage ${id}`);
      images[id] = 'absent';
      return 'removed';
    },
    verifyImage: async (id) => {
      calls.push(`verify ${id}`);
      if (images[id] === 'unread') return 'unknown';
      return images[id] === 'whole' ? 'whole' : 'damaged';
    },
    repairStorage: async (fetched) => {
      calls.push(`repair ${fetched.join(' ')}`);
      return repaired();
    },
    sync: async () => void calls.push('sync'),
  };
  const logger: AgentLogger = {
    event: (name) => void events.push(name),
    failed: () => void events.push('unexpected_error'),
    subscribe: () => ({ [Symbol.dispose]: () => undefined }),
    keepSecret: () => undefined,
  };
  const parts: FetchParts = {
    engine: engine as StackEngine,
    logger,
    clock: {
      now: () => nowMs,
      monotonic: () => nowMs,
      sleep: (_, signal) =>
        new Promise((_resolve, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error))),
    },
    signal: new AbortController().signal,
    alive: () => undefined,
    onProgress: (service, { doneBytes }) => void calls.push(`progress ${service} ${doneBytes}`),
    spare: [],
  };
  const told = (prefix: string): string[] => calls.filter((call) => call.startsWith(prefix));
  return { parts, calls, told, events, images, pinned };
}

describe('fetching a release', () => {
  test('pulls by digest where one is known, pins every image and syncs last', async () => {
    const { parts, calls, told } = createMachine({});
    assert.deepEqual(await fetchRelease(toFetch, false, parts), {
      kind: 'ok',
      imageIds: { backend: 'sha256:b', frontend: 'sha256:f' },
      digests: { backend: `${backend} as pulled`, frontend: `${frontend} as pulled` },
    });
    assert.deepEqual(told('pull'), [`pull ${backend}`, `pull ${frontend}`]);
    assert.deepEqual([told('pin').length, told('verify').length, calls.at(-1)], [2, 0, 'sync']);
  });

  test('fetches no image that stays as installed, unless it is gone or damaged', async () => {
    const stays: Release = { ...release, imageIds: { frontend: 'sha256:f' } };
    const whole = createMachine({ 'sha256:f': 'whole' });
    const answer = await fetchRelease(stays, false, whole.parts);
    assert.deepEqual(answer.kind === 'ok' && answer.imageIds, { backend: 'sha256:b', frontend: 'sha256:f' });
    assert.deepEqual(whole.told('pull'), [`pull ${backend}`]);
    for (const state of ['absent', 'broken'] as const) {
      const { parts, told } = createMachine({ 'sha256:f': state });
      assert.equal((await fetchRelease(stays, false, parts)).kind, 'ok');
      assert.deepEqual(told('pull'), [`pull ${backend}`, `pull ${frontend}`], state);
    }
  });

  test('passes on each progress, and logs one a second', async () => {
    const { parts, told, events } = createMachine({});
    await fetchRelease({ ...toFetch, images: { backend } }, false, parts);
    assert.equal(told('progress backend').length, 11);
    assert.equal(events.filter((name) => name === 'docker_pull').length, 3);
  });

  test('reports the failure, and what was fetched before it', async () => {
    const { parts, calls } = createMachine({}, { [frontend]: away });
    assert.deepEqual(await fetchRelease(toFetch, false, parts), { ...away, fetched: { 'sha256:b': backend } });
    assert.equal(calls.at(-1), 'sync');
  });

  test('replaces an image that the engine cannot use', async () => {
    const { parts, told, events, images } = createMachine({ 'sha256:b': 'broken' });
    assert.equal((await fetchRelease(toFetch, false, parts)).kind, 'ok');
    assert.equal(images['sha256:b'], 'whole');
    assert.equal(told(`pull ${backend}`).length, 2);
    assert.ok(events.includes('image_healed'));
  });

  test('reads suspect images to their end, twice before it removes one', async () => {
    const { parts, told, images } = createMachine({ 'sha256:b': 'damaged', 'sha256:f': 'whole' });
    assert.equal((await fetchRelease(toFetch, true, parts)).kind, 'ok');
    assert.equal(images['sha256:b'], 'whole');
    assert.deepEqual(told('removeImage'), ['removeImage sha256:b']);
    assert.deepEqual([told('verify sha256:b').length, told('verify sha256:f').length], [3, 1]);
  });

  for (const state of ['unread', 'unpinnable'] as const) {
    test(`removes nothing on a full disk, and keeps its suspicion (${state})`, async () => {
      const { parts, told, images, events } = createMachine({ 'sha256:b': state, 'sha256:f': 'whole' });
      const answer = await fetchRelease(toFetch, true, parts);
      assert.ok(answer.kind === 'failed' && answer.code === 'disk_space_low' && !answer.transient);
      assert.deepEqual(answer.unread, ['sha256:b']);
      assert.deepEqual(answer.fetched, { 'sha256:b': backend, 'sha256:f': 'registry.test/frontend:2.0.0' });
      assert.deepEqual([told('removeImage'), told('unpinImage'), told(`pull ${backend}`).length], [[], [], 1]);
      assert.equal(images['sha256:b'], state);
      assert.ok(!events.includes('image_healed'));
    });
  }

  test('does not report unreadable images when another image could not be fetched', async () => {
    const { parts } = createMachine({ 'sha256:b': 'unread' }, { [frontend]: away });
    const answer = await fetchRelease(toFetch, true, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'disk_space_low' && answer.unread === undefined);
  });

  test('does not report unsuspected images that could not be pinned', async () => {
    const { parts } = createMachine({ 'sha256:b': 'unpinnable' });
    const answer = await fetchRelease(toFetch, false, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'disk_space_low' && answer.unread === undefined);
  });

  test('takes an unsuspected image as it is', async () => {
    const { parts, images } = createMachine({ 'sha256:b': 'damaged' });
    assert.equal((await fetchRelease(toFetch, false, parts)).kind, 'ok');
    assert.equal(images['sha256:b'], 'damaged');
  });

  test('gives up an image that is broken again', async () => {
    const { parts } = createMachine({ 'sha256:b': 'broken' });
    parts.engine.removeImage = async () => 'in_use';
    const answer = await fetchRelease(toFetch, false, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'engine_storage_failed' && answer.transient);
  });

  const unstored: PullAnswer = { ...away, code: 'engine_storage_failed' };

  test('repairs the storage of the engine after all pulls, and pulls again only what it could not store', async () => {
    const registry: Record<string, PullAnswer> = { [frontend]: unstored };
    const { parts, told } = createMachine({}, registry, () => delete registry[frontend]);
    const answer = await fetchRelease(toFetch, false, { ...parts, spare: ['sha256:1', 'sha256:2'] });
    assert.equal(answer.kind, 'ok');
    assert.deepEqual(told('pull'), [`pull ${backend}`, `pull ${frontend}`, `pull ${frontend}`]);
    assert.deepEqual(told('repair'), ['repair sha256:1 sha256:2']);
  });

  test('pulls nothing again when there was nothing to repair, and does not blame the registry', async () => {
    const { parts, told } = createMachine({}, { [frontend]: unstored });
    const answer = await fetchRelease(toFetch, false, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'engine_storage_failed' && answer.transient);
    assert.deepEqual([told('pull').length, told('repair').length], [2, 1]);
  });

  test('reports an image that cannot be stored after the repair either', async () => {
    const { parts, told } = createMachine({}, { [frontend]: unstored }, () => true);
    const answer = await fetchRelease(toFetch, false, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'engine_storage_failed');
    assert.deepEqual([told('pull').length, told('repair').length], [3, 1]);
  });

  test('repairs nothing when the registry does not answer', async () => {
    const { parts, told } = createMachine({}, { [frontend]: away }, () => true);
    assert.equal((await fetchRelease(toFetch, false, parts)).kind, 'failed');
    assert.equal(told('repair').length, 0);
  });

  test('reports that the second pull failed', async () => {
    const { parts } = createMachine({ 'sha256:b': 'broken' });
    const { pull } = parts.engine;
    let pulls = 0;
    parts.engine.pull = async (...args) => (args[0] === backend && (pulls += 1) > 1 ? away : pull(...args));
    assert.deepEqual(await fetchRelease(toFetch, false, parts), {
      ...away,
      fetched: { 'sha256:f': 'registry.test/frontend:2.0.0' },
    });
  });
});

describe('a pull that falls silent', () => {
  /** Time moves on with each sleep; a pull answers nothing until it is broken off. */
  function createSilence(progressEveryMs: number | null) {
    const { parts } = createMachine({ 'sha256:b': 'whole' });
    let nowMs = 0;
    const asked: AbortSignal[] = [];
    const silent: FetchParts = {
      ...parts,
      clock: {
        now: () => nowMs,
        monotonic: () => nowMs,
        sleep: async (ms, signal) => {
          await new Promise((resolve) => setImmediate(resolve));
          signal?.throwIfAborted();
          nowMs += ms;
        },
      },
      engine: {
        ...parts.engine,
        pull: (_, onProgress, signal) =>
          new Promise((resolve, reject) => {
            asked.push(signal);
            signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
            if (progressEveryMs === null) return;
            const report = (done: number): void => {
              onProgress({ doneBytes: done, totalBytes: 100 });
              if (done === 100) resolve({ kind: 'ok', imageId: 'sha256:b', digest: null });
              else void silent.clock.sleep(progressEveryMs).then(() => report(done + 1));
            };
            report(0);
          }),
      },
    };
    return { parts: silent, asked, elapsedMs: () => nowMs };
  }
  const one: Release = { ...toFetch, images: { backend } };

  test('is broken off, to be tried again', async () => {
    const { parts, asked, elapsedMs } = createSilence(null);
    const answer = await fetchRelease(one, false, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'registry_unavailable' && answer.transient);
    assert.equal(asked[0]?.aborted, true);
    assert.equal(elapsedMs(), 300_000);
  });

  test('continues while it makes any progress', async () => {
    const { parts, asked } = createSilence(60_000);
    assert.equal((await fetchRelease(one, false, parts)).kind, 'ok');
    assert.equal(asked[0]?.aborted, false);
  });

  test('ends with the agent', async () => {
    const { parts } = createSilence(null);
    const stopping = new AbortController();
    const fetching = fetchRelease(one, false, { ...parts, signal: stopping.signal });
    stopping.abort(new Error('stop'));
    await assert.rejects(fetching, /stop/);
  });
});

describe('re-pulling a damaged release', () => {
  test('does not touch whole images', async () => {
    const { parts, told } = createMachine({ 'sha256:b': 'whole', 'sha256:f': 'whole' });
    await repullDamaged(release, parts);
    assert.deepEqual([told('pull'), told('removeImage'), told('sync').length], [[], [], 1]);
  });

  test('finds damage in an image that is pinned, and removes what keeps its layers', async () => {
    const { parts, told, images, pinned, events } = createMachine({ 'sha256:b': 'damaged', 'sha256:f': 'whole' });
    pinned.add('sha256:b');
    await repullDamaged(release, parts);
    assert.equal(images['sha256:b'], 'whole');
    assert.deepEqual(told('unpinImage'), ['unpinImage sha256:b']);
    assert.ok(events.includes('image_healed'));
  });

  test('fetches an image that was removed', async () => {
    const { parts, images } = createMachine({ 'sha256:b': 'whole' });
    await repullDamaged(release, parts);
    assert.equal(images['sha256:f'], 'whole');
  });

  test('goes on when the registry does not answer', async () => {
    const { parts, told } = createMachine({ 'sha256:b': 'broken' }, { [backend]: away, [frontend]: away });
    await repullDamaged(release, parts);
    assert.equal(told('pull').length, 2);
    assert.equal(told('sync').length, 1);
  });

  for (const state of ['unread', 'unpinnable'] as const) {
    test(`does not touch an image that cannot be verified on a full disk (${state})`, async () => {
      const { parts, told, events } = createMachine({ 'sha256:b': state, 'sha256:f': 'whole' });
      await repullDamaged(release, parts);
      assert.deepEqual([told('pull'), told('removeImage'), told('unpinImage')], [[], [], []]);
      assert.deepEqual(events, []);
    });
  }

  for (const [how, answer] of [
    ['does not answer', away],
    ['has it no more', { ...away, code: 'image_missing', transient: false }],
  ] as const) {
    test(`keeps a damaged image, and its pin, that the registry ${how}`, async () => {
      const { parts, told, images, pinned, events } = createMachine(
        { 'sha256:b': 'damaged', 'sha256:f': 'whole' },
        { [backend]: answer },
      );
      pinned.add('sha256:b');
      if (answer.code === 'image_missing') parts.engine.layers = async () => answer;
      await repullDamaged(release, parts);
      assert.equal(images['sha256:b'], 'damaged');
      assert.ok(pinned.has('sha256:b'));
      assert.deepEqual(told('removeImage'), []);
      assert.ok(!events.includes('image_healed'));
    });
  }

  test('asks by a pull whether a registry that only the engine reaches has the image', async () => {
    const { parts, told, images } = createMachine({ 'sha256:b': 'damaged', 'sha256:f': 'whole' });
    parts.engine.layers = async () => ({ kind: 'unknown' });
    await repullDamaged(release, parts);
    assert.equal(images['sha256:b'], 'whole');
    assert.equal(told(`pull ${backend}`).length, 2);
  });
});
