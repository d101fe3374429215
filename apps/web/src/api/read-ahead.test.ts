import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import { withReadAhead } from './read-ahead.ts';
import type { SessionService } from './session.ts';
import { createStore } from './store.ts';

type State = ReturnType<SessionService['state']['get']>;
const user = { id: 'u', email: 'olena@example.org', name: 'Olena', role: 'owner' as const, createdAt: '' };

/** A session with this snapshot, at which every other route answers with its key. */
function service(snapshot: () => Promise<unknown>) {
  const state = createStore<State>({ kind: 'checking' });
  const asked: string[] = [];
  const call = async (route: string): Promise<unknown> => {
    asked.push(route);
    return route === 'GET /api/snapshot' ? snapshot() : route;
  };
  let isHome = true;
  const session = withReadAhead({ state, call } as unknown as SessionService, () => isHome);
  return {
    session,
    asked,
    leaveHome: () => (isHome = false),
    logIn: () => state.set({ kind: 'signed_in', user }),
    state,
  };
}

test('what home shows is read once at the log-in, and each answer is used once', async () => {
  const { session, asked, logIn } = service(async () => ({ 'GET /api/devices': 'early', 'GET /api/zones': 'too' }));
  assert.deepEqual(asked, []);
  logIn();
  const calls = [
    session.call('GET /api/devices'),
    session.call('GET /api/zones'),
    session.call('GET /api/devices'),
  ] as const;
  assert.deepEqual(await Promise.all(calls), ['early', 'too', 'GET /api/devices']);
  assert.equal(await session.call('GET /api/zones'), 'GET /api/zones');
  assert.deepEqual(asked, ['GET /api/snapshot', 'GET /api/devices', 'GET /api/zones']);
});

test('an empty list in the snapshot is an answer', async () => {
  const { session, logIn } = service(async () => ({ 'GET /api/scenes': [] }));
  logIn();
  assert.deepEqual(await session.call('GET /api/scenes'), []);
});

test('what the snapshot leaves out is asked itself, and everything where there is none', async () => {
  const absent = () => Promise.reject(new Error('not_found'));
  for (const snapshot of [async () => ({}), absent]) {
    const { session, asked, logIn } = service(snapshot);
    logIn();
    assert.equal(await session.call('GET /api/system/status'), 'GET /api/system/status');
    assert.deepEqual(asked, ['GET /api/snapshot', 'GET /api/system/status']);
  }
});

test('other routes do not wait for the snapshot', async () => {
  const { session, logIn } = service(() => new Promise(() => undefined));
  logIn();
  assert.equal(await session.call('GET /api/automations'), 'GET /api/automations');
});

test('after a handshake home is read again at once, and nothing of it is used later', async () => {
  let turn = 0;
  const { session, asked, logIn, leaveHome } = service(async () => ({
    'GET /api/zones': ++turn,
    'GET /api/scenes': turn,
  }));
  logIn();
  assert.equal(await session.call('GET /api/zones'), 1);
  session.readAhead();
  assert.equal(await session.call('GET /api/zones'), 2);
  await setImmediate();
  assert.equal(await session.call('GET /api/scenes'), 'GET /api/scenes');
  leaveHome();
  session.readAhead();
  assert.equal(await session.call('GET /api/zones'), 'GET /api/zones');
  assert.deepEqual(asked, ['GET /api/snapshot', 'GET /api/snapshot', 'GET /api/scenes', 'GET /api/zones']);
});

test('the answers are handed over, also when they came before the code that asks', async () => {
  const { session, asked, logIn } = service(async () => ({ 'GET /api/zones': [], 'GET /api/scenes': 'early' }));
  logIn();
  await setImmediate();
  const taken: unknown[] = [];
  await session.handOver((...one) => taken.push(one));
  assert.deepEqual(taken, [
    ['GET /api/zones', []],
    ['GET /api/scenes', 'early'],
  ]);
  assert.equal(await session.call('GET /api/zones'), 'GET /api/zones');
  assert.deepEqual(asked, ['GET /api/snapshot', 'GET /api/zones']);
});

test('nothing of a person who has left is handed over', async () => {
  for (const next of ['nobody', 'somebody']) {
    const { session, logIn, state } = service(async () => ({ 'GET /api/zones': 'early' }));
    logIn();
    const taken: unknown[] = [];
    void session.handOver((...one) => taken.push(one));
    state.set({ kind: 'signed_out', because: 'left' });
    if (next === 'somebody') logIn();
    await setImmediate();
    assert.deepEqual(taken, [], next);
  }
});

test('nobody gets what was read for another person', async () => {
  let turn = 0;
  const { session, logIn, state } = service(async () => ({ 'GET /api/devices': ++turn }));
  logIn();
  state.set({ kind: 'signed_out', because: 'left' });
  assert.equal(await session.call('GET /api/devices'), 'GET /api/devices');
  logIn();
  assert.equal(await session.call('GET /api/devices'), 2);
});
