import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { QueryClient } from '@tanstack/react-query';
import type { User } from '@station/protocol/rest';
import type { SessionService } from '../api/session.ts';
import { createStore } from '../api/store.ts';
import { lastKnownCache } from './last-known.ts';
import { keepForOffline } from './offline.ts';

/** Of a browser: Node has neither caches nor service workers. They are there during the test only. */
function playBrowser(t: TestContext) {
  /** By cache and path. */
  const kept = new Map<string, Map<string, string>>();
  const caches = {
    open: async (name: string) => ({
      put: async (path: string, answer: Response) => {
        const files = kept.get(name) ?? new Map<string, string>();
        kept.set(name, files.set(path, await answer.text()));
      },
    }),
    delete: async (name: string) => kept.delete(name),
  };
  const document = Object.assign(new EventTarget(), { hidden: true });
  const navigator = { serviceWorker: { register: async () => undefined } };
  for (const [name, value] of Object.entries({ caches, document, navigator })) {
    const before = Object.getOwnPropertyDescriptor(globalThis, name);
    Object.defineProperty(globalThis, name, { value, configurable: true });
    t.after(() => {
      if (before) Object.defineProperty(globalThis, name, before);
      else Reflect.deleteProperty(globalThis, name);
    });
  }
  t.mock.timers.enable({ apis: ['setInterval'] });
  const leave = async (): Promise<void> => {
    document.dispatchEvent(new Event('visibilitychange'));
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  };
  return { kept, leave };
}

const maria = { id: 'maria', email: 'maria@example.org', name: 'Maria', role: 'member' } as User;

test('what a member saw last is kept, and removed when they become a guest', async (t) => {
  const { kept, leave } = playBrowser(t);
  const queries = new QueryClient();
  queries.setQueryData(['devices'], [{ id: 'safe', name: 'Strongbox' }]);
  const state = createStore<ReturnType<SessionService['state']['get']>>({ kind: 'signed_in', user: maria });
  keepForOffline(queries, { state } as unknown as SessionService);
  await leave();
  assert.match([...(kept.get(lastKnownCache)?.values() ?? [])].join(), /Strongbox/);
  state.set({ kind: 'signed_in', user: { ...maria, role: 'guest' } });
  await leave();
  assert.equal(kept.has(lastKnownCache), false);
  queries.clear();
});
