import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withReadAhead } from './read-ahead.ts';
import type { SessionService } from './session.ts';
import { createStore } from './store.ts';

type State = ReturnType<SessionService['state']['get']>;
const user = { id: 'u', email: 'olena@example.org', name: 'Olena', role: 'owner' as const, createdAt: '' };

/** A session whose requests are answered in the order of `answers`; the latest one is repeated. */
function service(answers: (() => Promise<unknown>)[]) {
  const state = createStore<State>({ kind: 'checking' });
  const asked: string[] = [];
  const call = (route: string): Promise<unknown> => {
    asked.push(route);
    return (answers.length > 1 ? answers.shift() : answers[0])!();
  };
  const session = withReadAhead({ state, call } as unknown as SessionService, ['GET /api/devices']);
  return { session, asked, logIn: () => state.set({ kind: 'signed_in', user }), state };
}

test('what home shows is read at the log-in, and each answer is used once', async () => {
  const { session, asked, logIn } = service([async () => 'early', async () => 'later']);
  assert.deepEqual(asked, []);
  logIn();
  assert.deepEqual(asked, ['GET /api/devices']);
  assert.equal(await session.call('GET /api/devices'), 'early');
  assert.equal(await session.call('GET /api/devices'), 'later');
  assert.deepEqual(asked, ['GET /api/devices', 'GET /api/devices']);
});

test('after an early failure the page asks itself', async () => {
  const { session, logIn } = service([() => Promise.reject(new Error('away')), async () => 'later']);
  logIn();
  await Promise.resolve();
  assert.equal(await session.call('GET /api/devices'), 'later');
});

test('nobody gets what was read for another person', async () => {
  const { session, asked, logIn, state } = service([async () => 'of the first', async () => 'of the second']);
  logIn();
  state.set({ kind: 'signed_out', because: 'left' });
  logIn();
  assert.equal(await session.call('GET /api/devices'), 'of the second');
  assert.equal(asked.length, 2);
});
