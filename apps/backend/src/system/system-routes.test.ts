import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Clock } from '@station/kit/clock';
import { manualClock } from '../../testing/manual-clock.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';

const agentToken = 'the-token-of-the-agent';

async function backendWithAgent(clock?: Clock) {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const socketPath = join(folder.path, 'agent.sock');
  const agent = starting.use(await simulateAgent(socketPath));
  const running = starting.use(
    await runBackend({ env: { AGENT_SOCKET: socketPath, AGENT_TOKEN: agentToken }, ...(clock && { clock }) }),
  );
  const headers = bearer((await running.setUp()).accessToken);
  const kept = starting.move();
  return { agent, running, http: running.http, headers, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test('status and version of the agent are forwarded unchanged, over its socket and with its token', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers } = all;
  const status = { currentVersion: '1.2.3', updating: false, addedByANewerAgent: { stays: true } };
  agent.answer('/status', 200, status);
  agent.answer('/version', 200, { currentVersion: '1.2.3', latestVersion: null, agentVersion: '1.0.0' });
  assert.deepEqual((await http.inject({ url: '/api/system/status', headers })).json(), status);
  assert.equal((await http.inject({ url: '/api/system/version', headers })).json().agentVersion, '1.0.0');
  // The backend asks for itself, too.
  const paths = new Set(agent.seen.map(({ path }) => path));
  assert.ok(paths.has('/status') && paths.has('/version'));
  assert.deepEqual([...new Set(agent.seen.map(({ authorization }) => authorization))], [`Bearer ${agentToken}`]);
});

test('the password of the hotspot is for owners alone, and in no log line', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers, running } = all;
  const login = { ssid: 'Station-9c3d', password: 'KPWM2345XY' };
  agent.answer('/hotspot', 200, login);
  const url = '/api/system/hotspot';
  const shown = await http.inject({ url, headers });
  assert.deepEqual(shown.json(), login);
  assert.equal(shown.headers['cache-control'], 'no-store');
  for (const role of ['admin', 'member'] as const) {
    const login = { email: `${role}@example.org`, password: 'a long enough password' };
    await http.inject({
      method: 'POST',
      url: '/api/station/members',
      headers,
      payload: { ...login, name: role, role },
    });
    const { accessToken } = (await http.inject({ method: 'POST', url: '/api/auth/login', payload: login })).json();
    const other = bearer(String(accessToken));
    assert.equal((await http.inject({ url: '/api/devices', headers: other })).statusCode, 200, role);
    assert.equal((await http.inject({ url, headers: other })).statusCode, 403, role);
  }
  assert.equal((await http.inject({ url })).statusCode, 401);
  assert.ok(!running.logger.lines.some((line) => line.includes(login.password)));
});

test('owner and administrators choose whether updates are automatic, and the log says who did', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers, running } = all;
  const choose = (payload: unknown, as: Record<string, string> = headers) =>
    http.inject({ method: 'PUT', url: '/api/system/auto-update', headers: as, payload: payload as object });
  agent.answer('/auto-update', 200, { autoUpdate: false });
  const chosen = await choose({ autoUpdate: false });
  assert.deepEqual([chosen.statusCode, chosen.json()], [200, { autoUpdate: false }]);
  assert.equal((await choose({ autoUpdate: null })).statusCode, 200);
  const lines = running.logger.lines.filter((line) => line.includes('auto_update_requested'));
  assert.equal(lines.length, 2);
  assert.match(lines[0] ?? '', /"autoUpdate":false/);
  for (const payload of [{}, { autoUpdate: 'no' }, { autoUpdate: true, more: 1 }])
    assert.equal((await choose(payload)).statusCode, 400, JSON.stringify(payload));
  for (const [role, expected] of [
    ['admin', 200],
    ['member', 403],
  ] as const) {
    const login = { email: `${role}@example.org`, password: 'a long enough password' };
    const url = '/api/station/members';
    await http.inject({ method: 'POST', url, headers, payload: { ...login, name: role, role } });
    const { accessToken } = (await http.inject({ method: 'POST', url: '/api/auth/login', payload: login })).json();
    assert.equal((await choose({ autoUpdate: true }, bearer(String(accessToken)))).statusCode, expected, role);
  }
  assert.equal((await choose({ autoUpdate: true }, {})).statusCode, 401);
  const bodies = agent.seen
    .filter(({ path }) => path === '/auto-update')
    .map(({ body }) => JSON.parse(body) as unknown);
  assert.deepEqual(bodies, [{ autoUpdate: false }, { autoUpdate: null }, { autoUpdate: true }]);
});

test('a choice that the agent cannot keep is told: an older agent, a full disk, no agent', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers, running } = all;
  const choose = async (from = http, as: Record<string, string> = headers) => {
    const answer = await from.inject({
      method: 'PUT',
      url: '/api/system/auto-update',
      headers: as,
      payload: { autoUpdate: false },
    });
    return `${answer.statusCode} ${answer.json().code}`;
  };
  agent.answer('/auto-update', 404, {
    statusCode: 404,
    error: 'Not Found',
    code: 'not_found',
    message: 'No such path.',
  });
  assert.equal(await choose(), '502 agent_too_old');
  const full = { statusCode: 507, error: 'Insufficient Storage', code: 'disk_space_low', message: 'The disk is full.' };
  agent.answer('/auto-update', 507, full);
  assert.equal(await choose(), '507 disk_space_low');
  assert.ok(!running.logger.lines.some((line) => line.includes('auto_update_requested')));
  await using alone = await runBackend();
  assert.equal(await choose(alone.http, bearer((await alone.setUp()).accessToken)), '502 agent_unreachable');
});

test('an update is requested without waiting for its end', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers } = all;
  agent.answer('/update?wait=false', 202, { operationId: 'op-1' });
  agent.answer('/rollback?wait=false', 202, { operationId: 'op-2' });
  const named = await http.inject({
    method: 'POST',
    url: '/api/system/update',
    headers,
    payload: { version: '1.3.0' },
  });
  assert.equal(named.statusCode, 202);
  assert.deepEqual(named.json(), { operationId: 'op-1' });
  assert.equal((await http.inject({ method: 'POST', url: '/api/system/update', headers })).statusCode, 202);
  assert.equal(
    (await http.inject({ method: 'POST', url: '/api/system/rollback', headers })).json().operationId,
    'op-2',
  );
  const bodies = agent.seen.filter(({ method }) => method === 'POST').map(({ body }) => JSON.parse(body) as unknown);
  assert.deepEqual(bodies, [{ version: '1.3.0' }, {}, {}]);
});

test('refusals of the agent reach the client with their own code', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers } = all;
  const refusal = { statusCode: 409, error: 'Conflict', code: 'update_in_progress', message: 'An update is running.' };
  agent.answer('/update?wait=false', 409, refusal);
  const response = await http.inject({ method: 'POST', url: '/api/system/update', headers });
  assert.equal(response.statusCode, 409);
  assert.deepEqual(response.json(), refusal);
});

test('a token that the agent refuses is never reported as a fault of the client', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers } = all;
  agent.answer('/check', 401, { statusCode: 401, error: 'Unauthorized', code: 'unauthorized', message: 'no' });
  const response = await http.inject({ method: 'POST', url: '/api/system/check', headers });
  assert.equal(response.statusCode, 502);
  assert.equal(response.json().code, 'agent_unreachable');
});

test('an unreachable, silent or faulty agent gives 502, never a hang', async () => {
  await using folder = await temporaryFolder();
  const socketPath = join(folder.path, 'agent.sock');
  await using running = await runBackend({ env: { AGENT_SOCKET: socketPath } });
  const headers = bearer((await running.setUp()).accessToken);
  const ask = (url = '/api/system/status') => running.http.inject({ url, headers });
  const unreachable = await ask();
  assert.equal(unreachable.statusCode, 502);
  assert.equal(unreachable.json().code, 'agent_unreachable');
  assert.equal((await ask('/api/system/events')).statusCode, 502);

  await using agent = await simulateAgent(socketPath);
  agent.hang('/status');
  assert.equal((await ask()).statusCode, 502);
  agent.answer('/version', 200, 'nonsense');
  agent.answer('/status', 500, { what: 'no error body' });
  assert.equal((await ask()).statusCode, 502);

  await using without = await runBackend();
  const token = (await without.setUp()).accessToken;
  assert.equal((await without.http.inject({ url: '/api/system/status', headers: bearer(token) })).statusCode, 502);
});

test('the event stream is forwarded unchanged, and ends on both sides when the reader disconnects', async () => {
  await using all = await backendWithAgent();
  const { agent, running, headers } = all;
  await until('the backend itself listens', () => agent.streams() === 1);
  const leaving = new AbortController();
  const response = await fetch(`${running.backend.url}/api/system/events`, { headers, signal: leaving.signal });
  assert.match(response.headers.get('content-type') ?? '', /^text\/event-stream/);
  await until('the reader’s stream is open', () => agent.streams() === 2);
  agent.emit({ time: '2026-03-01T12:00:00.000Z', level: 'info', event: 'update_start', images: {} });
  let text = '';
  for await (const chunk of response.body!) {
    text += Buffer.from(chunk as Uint8Array).toString();
    if (text.includes('update_start')) break;
  }
  assert.match(text, /data: \{"time":"2026-03-01T12:00:00.000Z"/);
  leaving.abort();
  await until('the agent sees it leave', () => agent.streams() === 1);
});

test('an event stream ends with its access token, and when its user is removed', async () => {
  const clock = manualClock();
  await using all = await backendWithAgent(clock);
  const { agent, running, http, headers } = all;
  await until('the backend itself listens', () => agent.streams() === 1);
  const listen = (as: Record<string, string>) => fetch(`${running.backend.url}/api/system/events`, { headers: as });

  const account = { email: 'petro@example.org', password: 'a long enough one' };
  const payload = { ...account, name: 'Petro', role: 'member' };
  const member = await http.inject({ method: 'POST', url: '/api/station/members', headers, payload });
  const login = await http.inject({ method: 'POST', url: '/api/auth/login', payload: account });
  const removed = await listen(bearer(login.json().accessToken));
  const stays = await listen(headers);
  await until('both are open', () => agent.streams() === 3);
  await http.inject({ method: 'DELETE', url: `/api/station/members/${member.json().userId}`, headers });
  await until('only his is closed', () => agent.streams() === 2);
  await assert.rejects(removed.text());
  await stays.body?.cancel();

  clock.advance(15 * 60_000 - 1_000);
  const expiring = await listen(headers);
  await until('all are closed', () => agent.streams() === 1);
  await assert.rejects(expiring.text());
});

test('a user has six event streams; a seventh ends the oldest one', async () => {
  await using all = await backendWithAgent();
  const { agent, running, headers } = all;
  await until('the backend itself listens', () => agent.streams() === 1);
  const streams: Response[] = [];
  for (let index = 1; index <= 6; index++) {
    streams.push(await fetch(`${running.backend.url}/api/system/events`, { headers }));
    await until('it is passed on', () => agent.streams() === 1 + index);
  }
  streams.push(await fetch(`${running.backend.url}/api/system/events`, { headers }));
  await assert.rejects(streams[0]!.text());
  await until('six are open', () => agent.streams() === 7);
  for (const stream of streams.slice(1)) await stream.body?.cancel();
});

test('open event streams do not delay the stop of the backend', async () => {
  await using all = await backendWithAgent();
  const { running, headers } = all;
  const response = await fetch(`${running.backend.url}/api/system/events`, { headers });
  await running.backend[Symbol.asyncDispose]();
  await assert.rejects(response.text());
});
