import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, beforeEach, describe, test } from 'node:test';
import { createMemory } from './memory.ts';
import type { RefreshTurns } from './refresh-turns.ts';
import { createSend, Problem } from './request.ts';
import { createSessionService, type SessionService } from './session.ts';
import { createStationClock } from './station-clock.ts';

/** What the little HTTP server of this file answers, and what it was asked. */
let answers: Record<string, { status: number; body: unknown }[]>;
let asked: string[];
let server: Server;

describe('a session', () => {
  before(async () => {
    server = createServer((request, response) => {
      const call = `${request.method} ${request.url}`;
      asked.push(request.headers.authorization ? `${call} ${request.headers.authorization}` : call);
      const queue = answers[call] ?? [];
      const answer = (queue.length > 1 ? queue.shift() : queue[0]) ?? {
        status: 404,
        body: { code: 'not_found', message: '' },
      };
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  after(() => {
    server.close();
    server.closeAllConnections();
  });
  beforeEach(() => {
    answers = {};
    asked = [];
  });

  const user = {
    id: 'u',
    email: 'olena@example.org',
    name: 'Olena',
    role: 'owner' as const,
    createdAt: '2026-11-20T10:00:00.000Z',
  };
  const session = (accessToken: string, ms = 900_000): { status: number; body: object } => ({
    status: 200,
    body: { accessToken, expiresAt: new Date(Date.now() + ms).toISOString(), user },
  });
  const refused = (code: string): { status: number; body: object } => ({ status: 401, body: { code, message: '' } });

  function service(remembered = true): SessionService {
    const kept = new Map<string, string>(remembered ? [['station.signed-in-before', 'yes']] : []);
    const storage = {
      getItem: (key: string) => kept.get(key) ?? null,
      setItem: (key: string, value: string) => void kept.set(key, value),
      removeItem: (key: string) => void kept.delete(key),
    } as unknown as Storage;
    const turns: RefreshTurns = {
      exclusively: (work) => work(),
      announce: () => {},
      onAnnounced: () => {},
      close: () => {},
    };
    const clock = createStationClock(() => Date.now());
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const send = createSend((path, init) => fetch(new URL(path as string, base), init), clock.observeHeader);
    return createSessionService({ send, turns, clock, memory: createMemory(() => storage), pause: async () => {} });
  }

  test('a browser with a session cookie is signed in silently', async () => {
    answers = { 'POST /api/auth/refresh': [session('a')] };
    const it = service();
    await it.start();
    assert.deepEqual(it.state.get(), { kind: 'signed_in', user });
  });

  test('a new browser is asked to log in, or to set up, without trying a cookie it cannot have', async () => {
    answers = {
      'GET /api/auth/setup': [
        { status: 200, body: { needed: false } },
        { status: 200, body: { needed: true } },
      ],
    };
    const it = service(false);
    await it.start();
    assert.deepEqual(it.state.get(), { kind: 'signed_out', because: 'never_in' });
    await it.start();
    assert.deepEqual(it.state.get(), { kind: 'setup_needed', lost: null });
    assert.deepEqual(asked, ['GET /api/auth/setup', 'GET /api/auth/setup']);
  });

  test('while the station restarts, the page waits instead of logging out', async () => {
    answers = {
      'POST /api/auth/refresh': [
        { status: 502, body: 'Bad Gateway' },
        { status: 502, body: 'Bad Gateway' },
        session('a'),
      ],
    };
    const it = service();
    const seen: string[] = [];
    it.state.subscribe(() => seen.push(it.state.get().kind));
    await it.start();
    assert.deepEqual(seen, ['unreachable', 'unreachable', 'signed_in']);
  });

  test('who was logged in before is shown while the station is away, until it says who is', async () => {
    answers = { 'POST /api/auth/refresh': [{ status: 502, body: '' }, { status: 502, body: '' }, session('a')] };
    const it = service();
    const seen: string[] = [];
    it.state.subscribe(() => {
      const state = it.state.get();
      seen.push(state.kind === 'signed_in' ? state.user.name : state.kind);
      if (state.kind === 'unreachable') it.assume({ ...user, name: 'Olena of yesterday' });
    });
    await it.start();
    assert.deepEqual(seen, ['unreachable', 'Olena of yesterday', 'Olena']);
  });

  test('a station that was reset meanwhile is not that person’s any more', async () => {
    answers = {
      'POST /api/auth/refresh': [{ status: 502, body: '' }, refused('session_expired')],
      'GET /api/auth/setup': [{ status: 200, body: { needed: true } }],
    };
    const it = service();
    it.state.subscribe(() => it.assume(user));
    await it.start();
    assert.deepEqual(it.state.get(), { kind: 'setup_needed', lost: null });
    it.assume(user);
    assert.deepEqual(it.state.get(), { kind: 'setup_needed', lost: null }, 'only while the station is away');
  });

  test('a token that is about to end is replaced once for all who ask at the same time', async () => {
    answers = {
      'POST /api/auth/refresh': [session('short', 5_000), session('long')],
      'GET /api/conditions': [{ status: 200, body: { ok: true } }],
    };
    const it = service();
    await it.start();
    await Promise.all([it.call('GET /api/conditions'), it.call('GET /api/conditions')]);
    assert.deepEqual(asked, [
      'POST /api/auth/refresh',
      'POST /api/auth/refresh',
      'GET /api/conditions Bearer long',
      'GET /api/conditions Bearer long',
    ]);
  });

  test('a refused token is replaced silently, and the request is made again', async () => {
    answers = {
      'POST /api/auth/refresh': [session('a'), session('b')],
      'GET /api/conditions': [refused('unauthorized'), { status: 200, body: 7 }],
    };
    const it = service();
    await it.start();
    assert.equal(await it.call('GET /api/conditions'), 7);
    assert.equal(asked.at(-1), 'GET /api/conditions Bearer b');
  });

  test('only the station’s own "no" ends a session', async () => {
    answers = {
      'POST /api/auth/refresh': [session('a'), { status: 503, body: '' }, refused('session_expired')],
      'GET /api/conditions': [refused('unauthorized')],
    };
    const it = service();
    await it.start();
    await assert.rejects(
      it.call('GET /api/conditions'),
      (error) => error instanceof Problem && error.code === 'no_answer',
    );
    assert.equal(it.state.get().kind, 'signed_in');
    await assert.rejects(
      it.call('GET /api/conditions'),
      (error) => error instanceof Problem && error.code === 'session_expired',
    );
    assert.deepEqual(it.state.get(), { kind: 'signed_out', because: 'expired' });
  });

  test('an error body becomes a problem with its code, its faults and its waiting time; any other answer has a code of its own', async () => {
    const faults = [{ in: 'body', pointer: '/email', message: 'is not an address' }];
    answers = {
      'POST /api/auth/login': [
        { status: 400, body: { code: 'validation_failed', message: 'm', details: { faults } } },
        { status: 200, body: '<html>' },
      ],
    };
    const it = service();
    const login = () => it.logIn({ email: 'x', password: 'y' });
    await assert.rejects(
      login(),
      (error) =>
        error instanceof Problem && error.code === 'validation_failed' && error.faults[0]?.pointer === '/email',
    );
    await assert.rejects(login(), (error) => error instanceof Problem && error.code === 'bad_answer');
  });
});
