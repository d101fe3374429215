import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AgentLogger } from '@station/kit/logger';
import type { Release } from '@station/protocol/release';
import type { PullAnswer, StackEngine } from './stack-ports.ts';
import { fetchRelease, type FetchParts } from './image-fetch.ts';

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

/** `unpinnable`: there is no room to make a pin. */
type State = 'whole' | 'broken' | 'absent' | 'unpinnable';

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
      return registry[reference] ? { kind: 'unknown' } : { kind: 'ok', layers: {}, imageIds: [] };
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
    assert.deepEqual(await fetchRelease(toFetch, parts), {
      kind: 'ok',
      imageIds: { backend: 'sha256:b', frontend: 'sha256:f' },
      digests: { backend: `${backend} as pulled`, frontend: `${frontend} as pulled` },
      isDoubtful: false,
    });
    assert.deepEqual(told('pull'), [`pull ${backend}`, `pull ${frontend}`]);
    assert.deepEqual([told('pin').length, calls.at(-1)], [2, 'sync']);
  });

  test('fetches no image that stays as installed, unless it is gone', async () => {
    const stays: Release = { ...release, imageIds: { frontend: 'sha256:f' } };
    const whole = createMachine({ 'sha256:f': 'whole' });
    const answer = await fetchRelease(stays, whole.parts);
    assert.deepEqual(answer.kind === 'ok' && answer.imageIds, { backend: 'sha256:b', frontend: 'sha256:f' });
    assert.deepEqual(whole.told('pull'), [`pull ${backend}`]);
    const { parts, told } = createMachine({});
    assert.equal((await fetchRelease(stays, parts)).kind, 'ok');
    assert.deepEqual(told('pull'), [`pull ${backend}`, `pull ${frontend}`]);
  });

  test('passes on each progress, and logs one a second', async () => {
    const { parts, told, events } = createMachine({});
    await fetchRelease({ ...toFetch, images: { backend } }, parts);
    assert.equal(told('progress backend').length, 11);
    assert.equal(events.filter((name) => name === 'docker_pull').length, 3);
  });

  test('reports the failure, and what was fetched before it', async () => {
    const { parts, calls } = createMachine({}, { [frontend]: away });
    assert.deepEqual(await fetchRelease(toFetch, parts), { ...away, fetched: { 'sha256:b': backend } });
    assert.equal(calls.at(-1), 'sync');
  });

  test('tells that an image cannot be used as it is, and removes nothing: another one may share its layers', async () => {
    const { parts, told } = createMachine({ 'sha256:b': 'broken' });
    const answer = await fetchRelease(toFetch, parts);
    assert.ok(answer.kind === 'ok' && answer.isDoubtful);
    assert.deepEqual([told('removeImage'), told(`pull ${backend}`).length], [[], 1]);
  });

  test('removes an image that cannot even be inspected, and fetches it again', async () => {
    const registry: Record<string, PullAnswer> = { [backend]: { kind: 'broken' } };
    const { parts, told, events } = createMachine({}, registry);
    const { removeImage } = parts.engine;
    parts.engine.removeImage = async (...args) => {
      delete registry[backend];
      return removeImage(...args);
    };
    const answer = await fetchRelease(toFetch, parts);
    assert.ok(answer.kind === 'ok' && !answer.isDoubtful);
    assert.deepEqual([told('removeImage'), told(`pull ${backend}`).length], [[`removeImage ${backend}`], 2]);
    assert.deepEqual(
      events.filter((name) => name.startsWith('image')),
      ['images_damaged', 'image_healed'],
    );
  });

  test('gives up an image that cannot be inspected again', async () => {
    const { parts } = createMachine({}, { [backend]: { kind: 'broken' } });
    const answer = await fetchRelease(toFetch, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'engine_storage_failed' && answer.transient);
  });

  test('removes nothing on a full disk, and names what it could not pin', async () => {
    const { parts, told } = createMachine({ 'sha256:b': 'unpinnable' });
    const answer = await fetchRelease(toFetch, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'disk_space_low' && !answer.transient);
    assert.deepEqual(answer.unread, ['sha256:b']);
    assert.deepEqual(answer.fetched, { 'sha256:b': backend, 'sha256:f': 'registry.test/frontend:2.0.0' });
    assert.deepEqual([told('removeImage'), told(`pull ${backend}`).length], [[], 1]);
  });

  test('does not name them when another image could not be fetched', async () => {
    const { parts } = createMachine({ 'sha256:b': 'unpinnable' }, { [frontend]: away });
    const answer = await fetchRelease(toFetch, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'disk_space_low' && answer.unread === undefined);
  });

  const unstored: PullAnswer = { ...away, code: 'engine_storage_failed' };

  test('repairs the storage of the engine after all pulls, and pulls again only what it could not store', async () => {
    const registry: Record<string, PullAnswer> = { [frontend]: unstored };
    const { parts, told } = createMachine({}, registry, () => delete registry[frontend]);
    const answer = await fetchRelease(toFetch, { ...parts, spare: ['sha256:1', 'sha256:2'] });
    assert.equal(answer.kind, 'ok');
    assert.deepEqual(told('pull'), [`pull ${backend}`, `pull ${frontend}`, `pull ${frontend}`]);
    assert.deepEqual(told('repair'), ['repair sha256:1 sha256:2']);
  });

  test('pulls nothing again when there was nothing to repair, and does not blame the registry', async () => {
    const { parts, told } = createMachine({}, { [frontend]: unstored });
    const answer = await fetchRelease(toFetch, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'engine_storage_failed' && answer.transient);
    assert.deepEqual([told('pull').length, told('repair').length], [2, 1]);
  });

  test('reports an image that cannot be stored after the repair either', async () => {
    const { parts, told } = createMachine({}, { [frontend]: unstored }, () => true);
    const answer = await fetchRelease(toFetch, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'engine_storage_failed');
    assert.deepEqual([told('pull').length, told('repair').length], [3, 1]);
  });

  test('repairs nothing when the registry does not answer', async () => {
    const { parts, told } = createMachine({}, { [frontend]: away }, () => true);
    assert.equal((await fetchRelease(toFetch, parts)).kind, 'failed');
    assert.equal(told('repair').length, 0);
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
    const answer = await fetchRelease(one, parts);
    assert.ok(answer.kind === 'failed' && answer.code === 'registry_unavailable' && answer.transient);
    assert.equal(asked[0]?.aborted, true);
    assert.equal(elapsedMs(), 300_000);
  });

  test('continues while it makes any progress', async () => {
    const { parts, asked } = createSilence(60_000);
    assert.equal((await fetchRelease(one, parts)).kind, 'ok');
    assert.equal(asked[0]?.aborted, false);
  });

  test('ends with the agent', async () => {
    const { parts } = createSilence(null);
    const stopping = new AbortController();
    const fetching = fetchRelease(one, { ...parts, signal: stopping.signal });
    stopping.abort(new Error('stop'));
    await assert.rejects(fetching, /stop/);
  });
});
