import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import type { Session, SessionList } from '@station/protocol/rest';
import {
  bearer,
  owner as house,
  refreshCookie,
  runBackend,
  type RunningBackend,
} from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { until } from '../../testing/until.ts';

// What ends somebody's access ends it at once wherever they are connected: REST, WebSocket and the stream of events.

const password = 'a long enough password';

type Petro = { userId: string; token: string; cookie: string };
type Ending = (
  running: RunningBackend,
  petro: Petro,
  owner: Record<string, string>,
  cloud: Cloud,
) => Promise<{ statusCode: number }>;

const byCloud = 'the cloud removes him';

const endings: Record<string, Ending> = {
  'he logs out': ({ http }, { cookie }) =>
    http.inject({ method: 'POST', url: '/api/auth/logout', headers: { cookie } }),
  'he ends the session from another one': async ({ http }, { token }) => {
    const elsewhere = await logIn(http);
    const headers = bearer(elsewhere.token);
    const { sessions } = (await http.inject({ url: '/api/auth/sessions', headers })).json<SessionList>();
    const { id } = sessions.find(({ isCurrent }) => !isCurrent) ?? { id: '' };
    const ended = await http.inject({ method: 'DELETE', url: `/api/auth/sessions/${id}`, headers });
    const me = await http.inject({ url: '/api/auth/me', headers });
    assert.deepEqual([me.statusCode, elsewhere.token === token], [200, false]);
    return ended;
  },
  'he logs out everywhere from another session': async ({ http }) => {
    const { token, cookie } = await logIn(http);
    const ended = await http.inject({ method: 'DELETE', url: '/api/auth/sessions', headers: bearer(token) });
    assert.match(String(ended.headers['set-cookie']), /^station_refresh=;/);
    const me = await http.inject({ url: '/api/auth/me', headers: bearer(token) });
    const renewed = await http.inject({ method: 'POST', url: '/api/auth/refresh', headers: { cookie } });
    assert.deepEqual([me.statusCode, renewed.statusCode], [401, 401], 'there as well');
    return ended;
  },
  'he changes his password elsewhere': async ({ http }) => {
    const { token, cookie } = await logIn(http);
    const payload = { currentPassword: password, newPassword: 'another long password' };
    const headers = { cookie, ...bearer(token) };
    return http.inject({ method: 'POST', url: '/api/auth/password', headers, payload });
  },
  'the owner makes a password for him': ({ http }, { userId }, headers) =>
    http.inject({ method: 'POST', url: `/api/station/members/${userId}/password`, headers }),
  'the owner makes him a member': ({ http }, { userId }, headers) =>
    http.inject({ method: 'PATCH', url: `/api/station/members/${userId}`, headers, payload: { role: 'member' } }),
  'the owner limits him to a zone': async ({ http }, { userId }, headers) => {
    const zone = await http.inject({ method: 'POST', url: '/api/zones', headers, payload: { name: 'Kitchen' } });
    const payload = { role: 'limited', zoneIds: [zone.json<{ id: string }>().id] };
    return http.inject({ method: 'PATCH', url: `/api/station/members/${userId}`, headers, payload });
  },
  'the owner removes him': ({ http }, { userId }, headers) =>
    http.inject({ method: 'DELETE', url: `/api/station/members/${userId}`, headers }),
  [byCloud]: async ({ http }, { token }, headers, cloud) => {
    await until('the station is claimed', () => cloud.links.length > 0);
    const people = [
      { cloudUserId: 'o', email: house.email, name: 'Olena', role: 'owner' },
      { cloudUserId: 'p', email, name: 'Petro', role: 'admin' },
    ];
    cloud.send({ type: 'identity_sync', station: { name: 'Home' }, ownerId: 'o', members: people });
    cloud.send({ type: 'member_removed', cloudUserId: 'p' });
    const me = async () => (await http.inject({ url: '/api/auth/me', headers: bearer(token) })).statusCode;
    await until('his token has ended', async () => (await me()) === 401);
    const payload = { email, password };
    const refused = await http.inject({ method: 'POST', url: '/api/auth/login', payload });
    assert.equal(refused.statusCode, 401, 'the account is closed');
    const removed = await http.inject({ method: 'POST', url: '/api/cloud/unclaim', headers });
    await logIn(http);
    return removed;
  },
};

type Cloud = { url: string; links: WebSocket[]; send(message: object): void } & AsyncDisposable;

/** Accepts every station that claims itself. */
async function acceptingCloud(): Promise<Cloud> {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  const links: WebSocket[] = [];
  server.on('connection', (link) => {
    link.once('message', (data) => {
      const isClaimed = (data as Buffer).toString('utf8').includes('station_auth');
      const answer = isClaimed ? { type: 'auth_ok' } : { type: 'claim_success', stationToken: 'a token, long enough' };
      link.send(JSON.stringify(answer));
      if (isClaimed) links.push(link);
    });
  });
  await once(server, 'listening');
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    links,
    send: (message) => links.at(-1)?.send(JSON.stringify(message)),
    [Symbol.asyncDispose]: async () => {
      for (const link of server.clients) link.terminate();
      server.close();
    },
  };
}

const email = 'petro@example.org';

async function logIn(http: RunningBackend['http']): Promise<{ token: string; cookie: string }> {
  const answer = await http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
  assert.equal(answer.statusCode, 200);
  return { token: answer.json<Session>().accessToken, cookie: refreshCookie(answer) };
}

for (const [name, end] of Object.entries(endings)) {
  test(`when ${name}, his access ends on REST, WebSocket and events`, async () => {
    await using agent = await simulateAgent();
    await using cloud = await acceptingCloud();
    const cloudEnv: Record<string, string> = name === byCloud ? { CLOUD_HOST: cloud.url } : {};
    await using running = await runBackend({ env: { AGENT_URL: agent.url, ...cloudEnv } });
    const { http, backend } = running;
    const owner = bearer((await running.setUp()).accessToken);
    const payload = { email, password, name: 'Petro', role: 'admin' };
    const added = await http.inject({ method: 'POST', url: '/api/station/members', headers: owner, payload });
    const petro = { userId: added.json<{ userId: string }>().userId, ...(await logIn(http)) };

    const socket = new WebSocket(`${backend.url.replace('http', 'ws')}/ws`);
    const closed = new Promise<number>((resolve) => socket.on('close', resolve));
    await once(socket, 'open');
    socket.send(JSON.stringify({ type: 'auth', token: petro.token }));
    await once(socket, 'message');
    const listening = agent.streams();
    const events = await fetch(`${backend.url}/api/system/events`, { headers: bearer(petro.token) });
    assert.equal(events.status, 200);
    await until('the events are passed on', () => agent.streams() > listening);

    const { statusCode } = await end(running, petro, owner, cloud);
    assert.ok(statusCode < 300, String(statusCode));
    assert.equal((await http.inject({ url: '/api/devices', headers: bearer(petro.token) })).statusCode, 401);
    assert.equal(await closed, 4401);
    const another = new WebSocket(`${backend.url.replace('http', 'ws')}/ws`);
    await once(another, 'open');
    another.send(JSON.stringify({ type: 'auth', token: petro.token }));
    assert.equal((await once(another, 'close'))[0], 4401, 'a new connection with the same token');
    // It may end with an error, because it is cut off.
    await events.text().catch(() => undefined);
    const again = await fetch(`${backend.url}/api/system/events`, { headers: bearer(petro.token) });
    assert.equal(again.status, 401);
  });
}
