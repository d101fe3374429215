import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import type { Session, StationClock } from '@station/protocol/rest';
import type { AccessRule } from '@station/protocol/route';
import { bearer, refreshCookie, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { type Clock, isoTime, systemClock } from '@station/kit/clock';
import { until } from '../../testing/until.ts';
import { createDeviceStore } from '../store/device-store.ts';
import type { HttpServer } from './server.ts';

const agentToken = 'agent-token-of-the-matrix';
const metricsToken = 'metrics-token-of-the-matrix';
const password = 'a long enough password';
const minute = 60_000;

/** Those of the second line had access until a moment ago. */
type Caller =
  | ('nobody' | 'bad token' | Person | 'agent' | 'device' | 'metrics')
  | ('former member' | 'former admin' | 'logged out' | 'ended guest');
type Person = (typeof people)[number];
/** From the lowest rank. */
const people = ['guest', 'limited', 'member', 'admin', 'owner'] as const;
const rankOf = (caller: Caller): number => people.findIndex((person) => person === caller);

/** One route for each access rule that the backend does not use yet. */
async function moreRoutes(app: HttpServer): Promise<void> {
  app.get('/api/matrix/agent', { config: { access: 'agent' } }, async () => ({}));
  app.get('/api/matrix/device', { config: { access: 'device' } }, async () => ({}));
  app.get('/api/matrix/roles', { config: { access: { roles: ['admin'] } } }, async () => ({}));
  app.get('/api/matrix/station-member', { config: { access: { station: 'member' } } }, async () => ({}));
}

/** Number of routes in Fastify's own list, to prove that the test leaves none out. */
function countPrinted(app: HttpServer): number {
  const lists = app.printRoutes({ commonPrefix: false }).matchAll(/ \(([A-Z, ]+)\)$/gm);
  return [...lists].reduce((sum, [, methods]) => sum + (methods ?? '').split(', ').length, 0);
}

/** Who passes each rule: written independently here, so that the table and the code check each other. */
function mayPass(rule: AccessRule, caller: Caller): boolean {
  const rank = rankOf(caller);
  const person = rank >= 0;
  if (typeof rule === 'object') {
    if ('roles' in rule) return person && (rule.roles as readonly string[]).includes(caller);
    return person && rank >= rankOf(rule.station);
  }
  switch (rule) {
    case 'public':
      return true;
    case 'user':
    case 'limited':
    case 'guest':
      return rank >= rankOf(rule === 'user' ? 'member' : rule);
    case 'metrics':
      return caller === 'metrics';
    case 'agent':
      return caller === 'agent';
    case 'device':
      return caller === 'device';
  }
}

const refusalOf = (rule: AccessRule, caller: Caller): number =>
  rankOf(caller) >= 0 && rule !== 'agent' && rule !== 'device' && rule !== 'metrics' ? 403 : 401;

type Joined = { id: string; headers: Record<string, string>; cookie: string };

/** Time passes at once: 10 minutes end the access of one guest, and no token of the others. */
function passingClock() {
  let passedMs = 0;
  const clock: Clock = { ...systemClock, now: () => systemClock.now() + passedMs };
  return { clock, now: clock.now, pass: (ms: number) => void (passedMs += ms) };
}

async function headersOfCallers(
  running: RunningBackend,
  { now, pass }: ReturnType<typeof passingClock>,
): Promise<Record<Caller, Record<string, string>>> {
  const owner = bearer((await running.setUp()).accessToken);
  const join = async (name: string, role: string, rights: object = {}): Promise<Joined> => {
    const account = { email: `${name}@example.org`, password };
    const payload = { ...account, name, role, ...rights };
    const made = await running.http.inject({ method: 'POST', url: '/api/station/members', headers: owner, payload });
    const login = await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: account });
    const headers = bearer(login.json<Session>().accessToken);
    return { id: made.json().userId, headers, cookie: refreshCookie(login) };
  };
  const former = await join('former', 'admin');
  await running.http.inject({ method: 'DELETE', url: `/api/station/members/${former.id}`, headers: owner });
  const lowered = await join('lowered', 'admin');
  const url = `/api/station/members/${lowered.id}`;
  const payload = { role: 'member' };
  await running.http.inject({ method: 'PATCH', url, headers: owner, payload });
  const newZone = { method: 'POST', url: '/api/zones', headers: owner, payload: { name: 'Kitchen' } } as const;
  const zoneIds = [(await running.http.inject(newZone)).json<{ id: string }>().id];
  const endsMs = now() + 10 * minute;
  const ended = await join('ended', 'guest', { zoneIds, endsAt: isoTime(endsMs) });
  const gone = await join('gone', 'admin');
  await running.http.inject({ method: 'POST', url: '/api/auth/logout', headers: { cookie: gone.cookie } });
  const headers: Record<Caller, Record<string, string>> = {
    nobody: {},
    'bad token': { ...bearer('not.a.token'), 'x-device-token': 'not-a-device-token' },
    guest: (await join('guest', 'guest', { zoneIds, endsAt: isoTime(now() + 60 * minute) })).headers,
    limited: (await join('limited', 'limited', { zoneIds })).headers,
    member: (await join('member', 'member')).headers,
    admin: (await join('admin', 'admin')).headers,
    owner,
    agent: bearer(agentToken),
    metrics: bearer(metricsToken),
    device: { 'x-device-token': await makeDevice(running) },
    'former member': former.headers,
    'former admin': lowered.headers,
    'logged out': gone.headers,
    'ended guest': ended.headers,
  };
  pass(10 * minute);
  await until('the station believes its clock', async () => {
    const answer = await running.http.inject({ url: '/api/system/clock', headers: owner });
    return Date.parse(answer.json<StationClock>().now) >= endsMs;
  });
  return headers;
}

async function makeDevice(running: RunningBackend): Promise<string> {
  const devices = createDeviceStore({ db: running.backend.db, clock: systemClock });
  return (await devices.provision({ externalId: 'c0ffee', type: 'climate', name: 'Hall', zoneId: null })).token;
}

/** Valid enough to pass the hooks; the handlers answer 4xx or 2xx, but never 401 or 403. */
const urlOf = (url: string): string =>
  url.replace(/:(userId|id)/, '01890000-0000-7000-8000-000000000000').replace('*', 'index.html');

test('every route admits exactly the callers that its rule names', async () => {
  const time = passingClock();
  await using running = await runBackend({
    env: { AGENT_TOKEN: agentToken, METRICS_TOKEN: metricsToken },
    clock: time.clock,
    extraRoutes: moreRoutes,
  });
  const callers = await headersOfCallers(running, time);
  const seen = running.backend.routes.flatMap(({ method, url, access }) =>
    [method].flat().map((one) => ({ method: one, url, access })),
  );
  assert.ok(seen.length > 20, `only ${seen.length} routes were found`);
  assert.equal(seen.length, countPrinted(running.http));
  for (const expected of [
    'GET /api/health',
    'POST /api/system/update',
    'GET /ws',
    'GET /metrics',
    'DELETE /api/station/members/:userId',
  ]) {
    assert.ok(
      seen.some(({ method, url }) => `${method} ${url}` === expected),
      `${expected} is missing in the list`,
    );
  }
  // Last what ends the callers' own sessions.
  const endsSessions = ({ method, url }: (typeof seen)[number]): boolean =>
    `${method} ${url}` === 'DELETE /api/auth/sessions';
  const inOrder = [...seen.filter((route) => !endsSessions(route)), ...seen.filter(endsSessions)];
  let checks = 0;
  for (const { method, url, access } of inOrder) {
    for (const [caller, headers] of Object.entries(callers) as [Caller, Record<string, string>][]) {
      const { statusCode, body } = await running.http.inject({ method: method as 'GET', url: urlOf(url), headers });
      const told = `${method} ${url} for ${caller}: ${statusCode} ${body.slice(0, 200)}`;
      if (mayPass(access, caller)) assert.ok(isAnswered(url, statusCode), told);
      else assert.equal(statusCode, refusalOf(access, caller), told);
      checks++;
    }
  }
  assert.equal(checks, seen.length * Object.keys(callers).length);
});

/** Renewing a session without one answers 401: the handler does that, not the access rule. */
function isAnswered(url: string, statusCode: number): boolean {
  return statusCode !== 403 && (statusCode !== 401 || url === '/api/auth/refresh');
}

test('the WebSocket admits exactly those who are logged in', async () => {
  const time = passingClock();
  const env = { AGENT_TOKEN: agentToken, METRICS_TOKEN: metricsToken };
  await using running = await runBackend({ env, clock: time.clock });
  const callers = await headersOfCallers(running, time);
  for (const [caller, headers] of Object.entries(callers) as [Caller, Record<string, string>][]) {
    const token = headers['authorization']?.replace('Bearer ', '') ?? headers['x-device-token'] ?? '';
    const socket = new WebSocket(`${running.backend.url.replace('http', 'ws')}/ws`);
    const told = new Promise<string>((resolve) => {
      socket.on('message', (data: Buffer) => resolve((JSON.parse(data.toString()) as { type: string }).type));
      socket.on('close', (code) => resolve(String(code)));
    });
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'auth', token }));
    // An empty token is no message of the protocol.
    const refused = caller === 'nobody' ? '1008' : '4401';
    assert.equal(await told, mayPass('guest', caller) ? 'hello' : refused, caller);
    socket.terminate();
  }
});

test('without AGENT_TOKEN the routes of the agent are closed, not open', async () => {
  const extraRoutes = async (app: HttpServer): Promise<void> => {
    app.get('/api/matrix/agent', { config: { access: 'agent' } }, async () => ({}));
  };
  await using running = await runBackend({ extraRoutes });
  for (const headers of [{}, bearer(''), bearer('undefined'), bearer('null'), { authorization: 'Bearer' }]) {
    assert.equal((await running.http.inject({ url: '/api/matrix/agent', headers })).statusCode, 401);
  }
});

test('X-Device-Token wins over Device-Token, and either sets the device of the request', async () => {
  const extraRoutes = async (app: HttpServer): Promise<void> => {
    app.get('/api/matrix/device', { config: { access: 'device' } }, async ({ deviceId }) => ({ deviceId }));
  };
  await using running = await runBackend({ extraRoutes });
  const token = await makeDevice(running);
  const ask = (headers: Record<string, string>) => running.http.inject({ url: '/api/matrix/device', headers });
  const { id } = (await running.backend.db.selectFrom('devices').select('id').executeTakeFirst())!;
  assert.deepEqual((await ask({ 'x-device-token': token })).json(), { deviceId: id });
  assert.deepEqual((await ask({ 'device-token': token })).json(), { deviceId: id });
  assert.equal((await ask({ 'x-device-token': token, 'device-token': 'wrong' })).statusCode, 200);
  assert.equal((await ask({ 'x-device-token': 'wrong', 'device-token': token })).statusCode, 401);
  assert.deepEqual((await ask({ 'x-device-token': '', 'device-token': token })).json(), { deviceId: id });
  assert.equal((await ask({ 'x-device-token': '', 'device-token': '' })).statusCode, 401);
  const again = await makeDevice(running);
  assert.equal((await ask({ 'x-device-token': token })).statusCode, 401, 'provisioned again: the old token is void');
  assert.deepEqual((await ask({ 'x-device-token': again })).json(), { deviceId: id });
});

test('an agent token with one wrong character is refused', async () => {
  const extraRoutes = async (app: HttpServer): Promise<void> => {
    app.get('/api/matrix/agent', { config: { access: 'agent' } }, async () => ({}));
  };
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken }, extraRoutes });
  const status = async (token: string): Promise<number> =>
    (await running.http.inject({ url: '/api/matrix/agent', headers: bearer(token) })).statusCode;
  assert.equal(await status(agentToken), 200);
  for (const wrong of [`${agentToken}x`, agentToken.slice(0, -1), agentToken.toUpperCase()]) {
    assert.equal(await status(wrong), 401);
  }
});

test('a route that declares no access rule stops the start', async () => {
  const extraRoutes = async (app: HttpServer): Promise<void> => {
    app.get('/api/forgotten', async () => ({}));
  };
  await assert.rejects(runBackend({ extraRoutes }), /GET \/api\/forgotten declares no access rule/);
});

test('a HEAD or OPTIONS route stops the start unless it is public, because the token check skips it', async () => {
  for (const method of ['HEAD', 'OPTIONS'] as const) {
    const extraRoutes = async (app: HttpServer): Promise<void> => {
      app.route({ method, url: '/api/peek', config: { access: 'user' }, handler: async () => ({}) });
    };
    await assert.rejects(runBackend({ extraRoutes }), /must be public/);
  }
});

test('the metrics are for the program that has METRICS_TOKEN; without the variable there are none', async () => {
  await using running = await runBackend({ env: { METRICS_TOKEN: metricsToken } });
  const ask = (headers: Record<string, string>) => running.http.inject({ url: '/metrics', headers });
  const answer = await ask(bearer(metricsToken));
  assert.equal(answer.statusCode, 200);
  assert.match(answer.body, /station_http_request_seconds/);
  assert.match(answer.body, /process_resident_memory_bytes/);
  assert.match(answer.body, /^station_history_dropped_total{reason="size",kind="values"} 0$/m);
  for (const [, name = '', type] of answer.body.matchAll(/^# TYPE (station_\S+) (\S+)$/gm))
    assert.equal(type === 'counter', name.endsWith('_total'), `${name} is a ${type}`);
  const owner = bearer((await running.setUp()).accessToken);
  for (const headers of [{}, owner, bearer(`${metricsToken}x`)]) assert.equal((await ask(headers)).statusCode, 401);
  await using without = await runBackend({ env: { METRICS_TOKEN: '' } });
  assert.equal((await without.http.inject({ url: '/metrics', headers: bearer(metricsToken) })).statusCode, 404);
});
