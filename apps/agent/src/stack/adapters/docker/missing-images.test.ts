import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PullAnswer } from '../../stack-ports.ts';
import { fetchMissing } from './missing-images.ts';

const proxy = 'registry.test/station/proxy:2';
const away = { kind: 'failed', code: 'registry_unavailable', reason: 'no answer', transient: true } as const;
const ok: PullAnswer = { kind: 'ok', imageId: 'sha256:p', digest: null };

type Pull = (
  reference: string,
  onProgress: () => void,
  signal: AbortSignal,
  sleep: (ms: number) => Promise<void>,
) => Promise<PullAnswer>;

/** Time moves on with each sleep. */
function createMachine(pull: Pull, present: readonly string[] = []) {
  const stopping = new AbortController();
  const calls: string[] = [];
  let nowMs = 0;
  let signs = 0;
  const sleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
    nowMs += ms;
  };
  const fetch = (images: readonly string[], registry = 'registry.test') =>
    fetchMissing(images, {
      registry,
      imageId: async (reference) => (present.includes(reference) ? 'sha256:p' : null),
      pull: (reference, onProgress, signal) => {
        calls.push(`pull ${reference}`);
        return pull(reference, () => onProgress({ doneBytes: 0, totalBytes: null }), signal, sleep);
      },
      removeImage: async (reference) => {
        calls.push(`remove ${reference}`);
        return 'removed';
      },
      clock: { now: () => nowMs, monotonic: () => nowMs, sleep },
      alive: () => void (signs += 1),
      signal: stopping.signal,
    });
  return { fetch, calls, stopping, elapsedMs: () => nowMs, signs: () => signs };
}

const untilAborted: Pull = (_, _onProgress, signal) =>
  new Promise((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });

test('what is missing of the private registry is fetched, and nothing else', async () => {
  const other = 'registry.test/station/other:1';
  const { fetch, calls } = createMachine(async () => ok, [other]);
  assert.equal(await fetch([proxy, other, 'eclipse-mosquitto:2', `sha256:${'a'.repeat(64)}`]), null);
  assert.deepEqual(calls, [`pull ${proxy}`]);
});

test('an image without a tag is fetched as its newest, as Compose takes it', async () => {
  const { fetch, calls } = createMachine(async () => ok);
  assert.equal(await fetch(['registry.test/station/proxy']), null);
  assert.deepEqual(calls, ['pull registry.test/station/proxy:latest']);
});

test('an id is no image of docker.io', async () => {
  const { fetch, calls } = createMachine(async () => ok);
  assert.equal(await fetch([`sha256:${'a'.repeat(64)}`, 'caddy'], 'docker.io'), null);
  assert.deepEqual(calls, ['pull caddy:latest']);
});

test('the first that cannot be fetched is reported, and ends it', async () => {
  const { fetch, calls } = createMachine(async () => away);
  assert.deepEqual(await fetch([proxy, 'registry.test/station/other:1']), away);
  assert.deepEqual(calls, [`pull ${proxy}`]);
});

test('a broken image is removed and fetched once more', async () => {
  const answers: PullAnswer[] = [{ kind: 'broken' }, ok];
  const { fetch, calls } = createMachine(async () => answers.shift() ?? away);
  assert.equal(await fetch([proxy]), null);
  assert.deepEqual(calls, [`pull ${proxy}`, `remove ${proxy}`, `pull ${proxy}`]);
});

test('one that is broken then too has failed', async () => {
  const { fetch, calls } = createMachine(async () => ({ kind: 'broken' }));
  const answer = await fetch([proxy]);
  assert.ok(answer?.code === 'engine_failed' && answer.transient);
  assert.equal(calls.length, 3);
});

test('a slow connection has all the time that it needs, and each progress is a keep-alive', async () => {
  const { fetch, signs, elapsedMs } = createMachine(async (_, onProgress, signal, sleep) => {
    for (let part = 0; part < 60; part += 1) {
      await sleep(60_000);
      signal.throwIfAborted();
      onProgress();
    }
    return ok;
  });
  assert.equal(await fetch([proxy]), null);
  assert.ok(signs() >= 60);
  assert.ok(elapsedMs() >= 3600_000);
});

test('a pull that falls silent is cancelled, to be tried again', async () => {
  const { fetch, elapsedMs } = createMachine(untilAborted);
  const answer = await fetch([proxy]);
  assert.ok(answer?.code === 'registry_unavailable' && answer.transient);
  assert.equal(elapsedMs(), 300_000);
});

test('the end of the agent ends it', async () => {
  const { fetch, stopping } = createMachine(untilAborted);
  const fetching = fetch([proxy]);
  stopping.abort(new Error('stop'));
  await assert.rejects(fetching, /stop/);
});
