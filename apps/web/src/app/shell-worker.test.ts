import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { createContext, runInContext } from 'node:vm';

const source = readFileSync(join(import.meta.dirname, '../../public/shell-worker.js'), 'utf8');
const release = { name: 'this', entry: '/assets/this.js', files: [] };
const script = 'https://station.local/shell-worker.js';

/**
 * A page of another release comes from the station, whose worker cannot be fetched. What a browser does is tried in
 * `tests/e2e/web/passkeys.test.ts`.
 * @param again what the station answers when it is asked for the worker once more; null: nothing.
 * @returns what the worker removes.
 */
async function openedPage(again: Response | null): Promise<string[]> {
  const removed: string[] = [];
  const listeners = new Map<string, (event: object) => void>();
  const waiting: Promise<unknown>[] = [];
  const registration = {
    update: async () => assert.fail('it cannot be fetched'),
    unregister: async () => removed.push('worker'),
  };
  const self = {
    release,
    registration,
    location: new URL(script),
    addEventListener: (kind: string, listener: (event: object) => void) => listeners.set(kind, listener),
  };
  const caches = { keys: async () => ['station-shell-this'], delete: async (key: string) => removed.push(key) };
  const fetch = async (url: string): Promise<Response> => {
    assert.equal(url, script);
    if (again === null) throw new TypeError('Failed to fetch');
    return again;
  };
  runInContext(source, createContext({ self, caches, fetch, URL, Promise, setTimeout: () => 0 }));
  listeners.get('fetch')?.({
    request: { method: 'GET', mode: 'navigate', url: 'https://station.local/' },
    preloadResponse: Promise.resolve(new Response('<script src="/assets/other.js"></script>')),
    respondWith: (answer: Promise<unknown>) => waiting.push(answer),
    waitUntil: (work: Promise<unknown>) => waiting.push(work),
  });
  // Answering the page adds what follows it.
  for (const work of waiting) await work;
  return removed;
}

const answer = (status: number, type: string): Response =>
  new Response('', { status, headers: { 'content-type': type } });

test('the worker goes when the station has none', async () => {
  const all = ['worker', 'station-shell-this'];
  assert.deepEqual(await openedPage(answer(404, 'text/plain')), all);
  assert.deepEqual(await openedPage(answer(200, 'text/html; charset=utf-8')), all);
});

test('the worker stays when it could not be fetched, or is there after all', async () => {
  assert.deepEqual(await openedPage(null), []);
  assert.deepEqual(await openedPage(answer(503, 'text/plain')), []);
  assert.deepEqual(await openedPage(answer(200, 'text/javascript')), []);
});
