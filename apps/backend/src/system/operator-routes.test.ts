import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';

const password = 'the password of the house';
const network = { ssid: '686f6d65', security: 'wpa2', password, isHidden: false };

async function backendWithAgent() {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryFolder());
  const socketPath = join(folder.path, 'agent.sock');
  const agent = starting.use(await simulateAgent(socketPath));
  const running = starting.use(await runBackend({ env: { AGENT_SOCKET: socketPath } }));
  const headers = bearer((await running.setUp()).accessToken);
  const kept = starting.move();
  const member = async (role: 'admin' | 'member') => {
    const login = { email: `${role}@example.org`, password: 'a long enough password' };
    const payload = { ...login, name: role, role };
    await running.http.inject({ method: 'POST', url: '/api/station/members', headers, payload });
    const { accessToken } = (
      await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: login })
    ).json();
    return bearer(String(accessToken));
  };
  return { agent, running, http: running.http, headers, member, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test('owners and admins see the machine and its network; members do not, and nobody without a log-in', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers } = all;
  agent.answer('/machine', 200, { temperature: 48.3 });
  agent.answer('/network', 200, { networks: [], addedByANewerAgent: true });
  const admin = await all.member('admin');
  const member = await all.member('member');
  for (const url of ['/api/system/machine', '/api/system/network']) {
    for (const person of [headers, admin])
      assert.equal((await http.inject({ url, headers: person })).statusCode, 200, url);
    assert.equal((await http.inject({ url, headers: member })).statusCode, 403, url);
    assert.equal((await http.inject({ url })).statusCode, 401, url);
  }
  assert.deepEqual((await http.inject({ url: '/api/system/network', headers })).json(), {
    networks: [],
    addedByANewerAgent: true,
  });
  assert.equal((await http.inject({ url: '/api/system/logs', headers: member })).statusCode, 403);
  for (const [url, payload] of [
    ['/api/system/network/scan', undefined],
    ['/api/system/network/join', network],
    ['/api/system/services/restart', { service: 'backend' }],
    ['/api/system/machine/restart', undefined],
  ] as const) {
    const asked = agent.seen.length;
    assert.equal(
      (await http.inject({ method: 'POST', url, headers: member, ...(payload && { payload }) })).statusCode,
      403,
      url,
    );
    assert.equal(agent.seen.slice(asked).filter(({ method }) => method === 'POST').length, 0, url);
  }
});

test('a join reaches the agent, and its password no log and no refusal', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers, running } = all;
  agent.answer('/network/join', 202, {});
  const url = '/api/system/network/join';
  assert.equal((await http.inject({ method: 'POST', url, headers, payload: network })).statusCode, 202);
  const sent = agent.seen.find(({ path }) => path === '/network/join');
  assert.deepEqual(JSON.parse(sent?.body ?? ''), network);
  const refusal = {
    statusCode: 409,
    error: 'Conflict',
    code: 'conflict',
    message: 'Not now.',
    details: { reason: 'joining' },
  };
  agent.answer('/network/join', 409, refusal);
  assert.deepEqual((await http.inject({ method: 'POST', url, headers, payload: network })).json(), refusal);
  const long = await http.inject({
    method: 'POST',
    url,
    headers,
    payload: { ...network, password: password.repeat(9) },
  });
  assert.equal(long.statusCode, 400);
  assert.ok(!long.body.includes(password));
  assert.ok(running.logger.lines.some((line) => line.includes('network_join_requested')));
  assert.ok(!running.logger.lines.some((line) => line.includes(password)));
});

test('the log says who restarted a service or the machine, once the agent has agreed', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers, running } = all;
  const url = '/api/system/services/restart';
  const restart = () => http.inject({ method: 'POST', url, headers, payload: { service: 'broker' } });
  const linesOf = (event: string) => running.logger.lines.filter((line) => line.includes(`"${event}"`));
  const refusal = {
    statusCode: 409,
    error: 'Conflict',
    code: 'update_in_progress',
    message: 'An update is under way.',
  };
  agent.answer('/services/restart', 409, refusal);
  assert.deepEqual((await restart()).json(), refusal);
  assert.deepEqual(linesOf('service_restart_requested'), []);
  agent.answer('/services/restart', 202, {});
  assert.equal((await restart()).statusCode, 202);
  const [line = ''] = linesOf('service_restart_requested');
  const { userId, service } = JSON.parse(line) as { userId: string; service: string };
  assert.equal(service, 'broker');
  const me = await http.inject({ url: '/api/auth/me', headers });
  assert.equal(userId, me.json().id);
  agent.answer('/machine/restart', 202, {});
  const machine = await http.inject({ method: 'POST', url: '/api/system/machine/restart', headers });
  assert.equal(machine.statusCode, 202);
  assert.equal(linesOf('machine_restart_requested').length, 1);
});

test('logs stream to two pages of a person and no more, and end with the role', async () => {
  await using all = await backendWithAgent();
  const { agent, http, headers, running } = all;
  await until('the backend itself listens', () => agent.streams() === 1);
  const admin = await all.member('admin');
  const open = () => fetch(`${running.backend.url}/api/system/logs?service=backend&since=17`, { headers: admin });
  const first = await open();
  assert.match(first.headers.get('content-type') ?? '', /^text\/event-stream/);
  assert.ok(agent.seen.some(({ path }) => path === '/logs?service=backend&since=17'));
  const others = [await open(), await open()];
  await assert.rejects(first.text());
  await until('two are open', () => agent.streams() === 3);
  const members: { userId: string; role: string }[] = (
    await http.inject({ url: '/api/station/members', headers })
  ).json();
  const id = members.find(({ role }) => role === 'admin')?.userId;
  const changed = await http.inject({
    method: 'PATCH',
    url: `/api/station/members/${id}`,
    headers,
    payload: { role: 'member' },
  });
  assert.equal(changed.statusCode, 200, changed.body);
  await until('they are closed', () => agent.streams() === 1);
  await Promise.all(others.map((stream) => assert.rejects(stream.text())));
  const odd = await http.inject({ url: '/api/system/logs?service=../x', headers });
  assert.ok(odd.statusCode >= 400);
});
