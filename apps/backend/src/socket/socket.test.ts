import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { maxClientFrameBytes } from '@station/protocol/socket';
import { manualClock } from '../../testing/manual-clock.ts';
import { bearer, owner, post, refreshCookie, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { until } from '../../testing/until.ts';

type Message = { type: string } & Record<string, unknown>;
type Client = {
  socket: WebSocket;
  messages: Message[];
  closed: Promise<number>;
  next(type: string): Promise<Message>;
};

async function open(running: RunningBackend, headers: Record<string, string> = {}): Promise<Client> {
  const socket = new WebSocket(`${running.backend.url.replace('http', 'ws')}/ws`, { headers });
  const messages: Message[] = [];
  socket.on('message', (data: Buffer) => void messages.push(JSON.parse(data.toString()) as Message));
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  await once(socket, 'open');
  const next = async (type: string): Promise<Message> => {
    await until(`a ${type} arrives`, () => messages.some((message) => message.type === type));
    return messages.splice(
      messages.findIndex((message) => message.type === type),
      1,
    )[0]!;
  };
  return { socket, messages, closed, next };
}

const send = (client: Client, message: unknown): void => client.socket.send(JSON.stringify(message));

test('a client that logs in receives its user, and its requests are answered', async () => {
  await using running = await runBackend();
  const { accessToken, user } = await running.setUp();
  const client = await open(running);
  send(client, { type: 'auth', token: accessToken });
  const hello = await client.next('hello');
  assert.deepEqual(hello['user'], { id: user.id, role: 'owner' });
  assert.equal((hello['station'] as { name: string }).name, 'Station');
  assert.match(String(hello['at']), /^\d{4}-.*Z$/);
  send(client, { type: 'ping' });
  await client.next('pong');
  client.socket.close();
});

test('a client that sends on before it has its hello is answered after it, or learns why it is refused', async () => {
  await using running = await runBackend();
  const { accessToken } = await running.setUp();
  const client = await open(running);
  for (const message of [{ type: 'auth', token: accessToken }, { type: 'ping' }, { type: 'ping' }])
    send(client, message);
  await client.next('hello');
  await client.next('pong');
  await client.next('pong');
  client.socket.close();
  const refused = await open(running);
  const reason = once(refused.socket, 'close').then(([, text]) => String(text));
  for (const message of [{ type: 'auth', token: 'no.such.token' }, { type: 'ping' }]) send(refused, message);
  assert.equal(await reason, 'The token is not valid');
});

test('nothing is sent before the log-in, and any other first message ends the connection', async () => {
  await using agent = await simulateAgent();
  await using running = await runBackend({ env: { AGENT_URL: agent.url } });
  await running.setUp();
  const silent = await open(running);
  await until('the backend listens to the agent', () => agent.streams() === 1);
  agent.emit({ time: '2026-03-01T12:00:00.000Z', level: 'info', event: 'update_start' });
  const early = await open(running);
  send(early, { type: 'ping' });
  assert.equal(await early.closed, 4401);
  const wrong = await open(running);
  send(wrong, { type: 'auth', token: 'no.such.token' });
  assert.equal(await wrong.closed, 4401);
  for (const text of ['not json', '{"type":"dance"}', '[]', '{"type":"auth"}']) {
    const invalid = await open(running);
    invalid.socket.send(text);
    assert.equal(await invalid.closed, 1008, text);
  }
  const binary = await open(running);
  binary.socket.send(Buffer.from('{"type":"ping"}'));
  assert.equal(await binary.closed, 1008);
  assert.equal(await silent.closed, 4401, 'a silent client is closed after 5 s');
  assert.deepEqual(silent.messages, []);
});

test('a message over 4 KiB is refused with 1009', async () => {
  await using running = await runBackend();
  const { accessToken } = await running.setUp();
  const client = await open(running);
  send(client, { type: 'auth', token: accessToken });
  await client.next('hello');
  client.socket.send(' '.repeat(maxClientFrameBytes + 1));
  assert.equal(await client.closed, 1009);
});

test('before the log-in a connection sends 4 KiB at most, in however many parts', async () => {
  await using running = await runBackend();
  const client = await open(running);
  const sent = (part: number) => client.socket.send('x', { fin: false, binary: part === 0 });
  for (let part = 0; part < maxClientFrameBytes / 2; part += 1) sent(part);
  assert.equal(await client.closed, 1006, 'the connection is cut');
});

test('a thousand connections that say nothing keep nobody out', async () => {
  await using running = await runBackend();
  const { accessToken } = await running.setUp();
  const before = await open(running);
  send(before, { type: 'auth', token: accessToken });
  await before.next('hello');
  const address = running.backend.url.replace('http', 'ws');
  const silent = Array.from({ length: 1_000 }, () => new WebSocket(`${address}/ws`));
  for (const socket of silent) socket.on('error', () => undefined);
  await Promise.allSettled(silent.map((socket) => once(socket, 'open')));
  const user = await open(running);
  send(user, { type: 'auth', token: accessToken });
  await user.next('hello');
  assert.equal(before.socket.readyState, WebSocket.OPEN);
  await until(
    'most of them are dropped',
    () => silent.filter((socket) => socket.readyState === WebSocket.OPEN).length <= 250,
  );
  for (const socket of [...silent, before.socket, user.socket]) socket.terminate();
});

test('a member with two hundred connections ends only their own oldest ones', async () => {
  await using running = await runBackend();
  const { accessToken } = await running.setUp();
  const account = { email: 'member@example.org', password: 'a password of a member' };
  await post(running, '/api/station/members', { ...account, name: 'Member', role: 'member' }, bearer(accessToken));
  const member = (await post(running, '/api/auth/login', account)).json<{ accessToken: string }>();
  const ownersPage = await open(running);
  send(ownersPage, { type: 'auth', token: accessToken });
  await ownersPage.next('hello');
  const members = await Promise.all(
    Array.from({ length: 200 }, async () => {
      const client = await open(running);
      send(client, { type: 'auth', token: member.accessToken });
      await client.next('hello');
      return client;
    }),
  );
  const isOpen = ({ socket }: Client): boolean => socket.readyState === WebSocket.OPEN;
  await until('the newest are left', () => members.filter(isOpen).length <= 32);
  assert.equal(await members.find((client) => !isOpen(client))?.closed, 1013);
  const another = await open(running);
  send(another, { type: 'auth', token: accessToken });
  await another.next('hello');
  send(ownersPage, { type: 'ping' });
  await ownersPage.next('pong');
  for (const { socket } of [...members, ownersPage, another]) socket.terminate();
});

test('a member who sends messages without a pause is disconnected, also with pings of the protocol', async () => {
  await using running = await runBackend();
  const { accessToken } = await running.setUp();
  for (const flood of ['message', 'ping'] as const) {
    const client = await open(running);
    send(client, { type: 'auth', token: accessToken });
    await client.next('hello');
    for (let count = 0; count < 1_000; count += 1) {
      if (flood === 'ping') client.socket.ping();
      else send(client, { type: 'ping' });
    }
    assert.ok([1006, 1008].includes(await client.closed));
    assert.ok(client.messages.length < 200);
  }
});

test('a page of another site is refused', async () => {
  await using running = await runBackend();
  const { host } = new URL(running.backend.url);
  const refused = new WebSocket(`ws://${host}/ws`, { headers: { origin: 'http://evil.example' } });
  const [error] = (await once(refused, 'error')) as [Error];
  assert.match(error.message, /403/);
  const own = await open(running, { origin: `http://${host}` });
  own.socket.close();
});

test('the connection ends with its token, unless a new one is sent in time', async () => {
  const clock = manualClock();
  await using running = await runBackend({ clock });
  const { accessToken } = await running.setUp();
  const stale = await open(running);
  clock.advance(15 * 60_000 - 1_000);
  send(stale, { type: 'auth', token: accessToken });
  await stale.next('hello');
  assert.equal(await stale.closed, 4401);

  const email = 'olena@example.org';
  const password = 'correct horse battery';
  const login = await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
  const renewed = await open(running);
  send(renewed, { type: 'auth', token: accessToken });
  await renewed.next('hello');
  send(renewed, { type: 'auth', token: login.json().accessToken });
  const second = await renewed.next('hello');
  assert.equal(second['tokenExpiresAt'], login.json().expiresAt);
  renewed.socket.close();
});

test('a user who is removed from the station is disconnected at once', async () => {
  await using running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const account = { email: 'ivan@example.org', password: 'a long enough one' };
  const payload = { ...account, name: 'Ivan', role: 'member' };
  const member = (await running.http.inject({ method: 'POST', url: '/api/station/members', headers, payload })).json();
  const login = await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: account });
  const client = await open(running);
  send(client, { type: 'auth', token: login.json().accessToken });
  await client.next('hello');
  const url = `/api/station/members/${member.userId}`;
  assert.equal((await running.http.inject({ method: 'DELETE', url, headers })).statusCode, 204);
  assert.equal(await client.closed, 4401);
  const me = await running.http.inject({ url: '/api/auth/me', headers: bearer(login.json().accessToken) });
  assert.equal(me.statusCode, 401);
});

test('a new password disconnects every client; the page that changed it reconnects with its cookie', async () => {
  await using running = await runBackend();
  await running.setUp();
  const { email, password } = owner;
  const logIn = () => running.http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
  const other = await logIn();
  const mine = await logIn();
  const clients = [await open(running), await open(running)];
  for (const [index, login] of [other, mine].entries()) {
    send(clients[index]!, { type: 'auth', token: login.json().accessToken });
    await clients[index]!.next('hello');
  }
  const headers = { cookie: refreshCookie(mine), ...bearer(mine.json().accessToken) };
  const payload = { currentPassword: password, newPassword: 'another long password' };
  await running.http.inject({ method: 'POST', url: '/api/auth/password', headers, payload });
  for (const { closed } of clients) assert.equal(await closed, 4401);

  const url = '/api/auth/refresh';
  const refused = await running.http.inject({ method: 'POST', url, headers: { cookie: refreshCookie(other) } });
  assert.equal(refused.statusCode, 401);
  const renewed = await running.http.inject({ method: 'POST', url, headers: { cookie: headers.cookie } });
  const back = await open(running);
  send(back, { type: 'auth', token: renewed.json().accessToken });
  await back.next('hello');
  back.socket.close();
});

test('every client gets the agent’s events and learns that the agent is unreachable', async () => {
  await using running = await (async () => {
    const agent = await simulateAgent();
    return Object.assign(await runBackend({ env: { AGENT_URL: agent.url } }), { agent });
  })();
  const { agent } = running;
  await using _agent = agent;
  const { accessToken } = await running.setUp();
  await until('the backend listens to the agent', () => agent.streams() === 1);
  await until('the link is known', () => running.logger.events('agent_link_up').length === 1);
  const clients = [await open(running), await open(running)];
  for (const client of clients) {
    send(client, { type: 'auth', token: accessToken });
    assert.equal((await client.next('agent_link'))['connected'], true);
  }
  const event = { time: '2026-03-01T12:00:00.000Z', level: 'info', event: 'update_start', images: { backend: 'a:1' } };
  agent.emit(event);
  agent.emit({ not: 'an event' });
  for (const client of clients) assert.deepEqual((await client.next('agent_event'))['event'], event);
  agent.endStreams();
  for (const client of clients) assert.equal((await client.next('agent_link'))['connected'], false);
  for (const client of clients) assert.equal((await client.next('agent_link'))['connected'], true, 'reconnects');
  for (const { socket } of clients) socket.close();
});

test('when the backend stops, clients are asked to reconnect', async () => {
  await using running = await runBackend();
  const { accessToken } = await running.setUp();
  const client = await open(running);
  send(client, { type: 'auth', token: accessToken });
  await client.next('hello');
  await running.backend[Symbol.asyncDispose]();
  assert.equal(await client.closed, 1001);
});

test('connections that wait for their turn, or for their end, or come now, do not hold up a stop', async () => {
  await using running = await runBackend();
  const address = running.backend.url.replace('http', 'ws');
  const connectMany = (): WebSocket[] => {
    const sockets = Array.from({ length: 600 }, () => new WebSocket(`${address}/ws`));
    for (const socket of sockets) socket.on('error', () => undefined);
    return sockets;
  };
  const flood = connectMany();
  await until('all turns are taken', () => flood.filter(({ readyState }) => readyState === WebSocket.OPEN).length > 50);
  const began = performance.now();
  const stopped = running.backend[Symbol.asyncDispose]();
  connectMany();
  await stopped;
  const ms = performance.now() - began;
  assert.ok(ms < 5_000, `it took ${Math.round(ms)} ms`);
});

test('a client that reads nothing is disconnected at 8 MiB and delays no other client', async () => {
  await using agent = await simulateAgent();
  await using running = await runBackend({ env: { AGENT_URL: agent.url } });
  const { accessToken } = await running.setUp();
  await until('the backend listens to the agent', () => agent.streams() === 1);
  const frozen = await open(running);
  const awake = await open(running);
  for (const client of [frozen, awake]) {
    send(client, { type: 'auth', token: accessToken });
    await client.next('hello');
  }
  // Stops reading from the connection itself: the kernel's buffers fill, then ours.
  frozen.socket.pause();
  const filler = 'x'.repeat(100_000);
  for (let index = 0; index < 300; index++) {
    agent.emit({ time: '2026-03-01T12:00:00.000Z', level: 'info', event: 'note', index, filler });
    await awake.next('agent_event');
  }
  await until('the frozen one is dropped', () => running.logger.events('socket_client_dropped').length === 1);
  awake.socket.close();
  frozen.socket.terminate();
});

test('bytes that are not a WebSocket frame end the connection, not the backend', async () => {
  await using running = await runBackend();
  const { hostname, port } = new URL(running.backend.url);
  const raw = connect(Number(port), hostname);
  raw.write(
    `GET /ws HTTP/1.1\r\nHost: ${hostname}:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n`,
  );
  await once(raw, 'data');
  raw.write(Buffer.alloc(64, 0xff));
  raw.resume();
  await once(raw, 'close');
  assert.equal((await running.http.inject('/api/health')).statusCode, 200);
});
