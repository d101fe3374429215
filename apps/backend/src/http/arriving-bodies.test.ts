import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request as ask } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, it } from 'node:test';
import { text } from 'node:stream/consumers';
import { bearer, owner, type RunningBackend, runBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';

const json = { 'content-type': 'application/json' };

/** Sends a request whose body never ends. */
async function sendHalf(
  { backend: { url } }: RunningBackend,
  line: string,
  { headers = {}, bytes, sent = 1 }: { headers?: Record<string, string>; bytes: number | 'chunked'; sent?: number },
): Promise<Socket> {
  const { hostname, port, host } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const length = bytes === 'chunked' ? { 'transfer-encoding': 'chunked' } : { 'content-length': String(bytes) };
  const all = Object.entries({ ...headers, ...length }).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.write(`${line} HTTP/1.1\r\nHost: ${host}\r\n${all.join('')}\r\n`);
  socket.write(bytes === 'chunked' ? `${sent.toString(16)}\r\n${' '.repeat(sent)}` : ' '.repeat(sent));
  return socket;
}

/** @returns status of the answer; null: there is none, the connection was cut. */
async function answerOn(socket: Socket): Promise<number | null> {
  const [chunk] = (await Promise.race([once(socket, 'data'), once(socket, 'close')])) as [unknown];
  return Buffer.isBuffer(chunk) ? Number(chunk.toString().split(' ')[1]) : null;
}

describe('a head', () => {
  it('is read up to 8 KiB, as the budget counts it', async () => {
    await using running = await runBackend();
    for (const [bytes, isRead] of [
      [7_900, true],
      [8_300, false],
    ] as const) {
      const headers = { 'x-filler': 'x'.repeat(bytes) };
      const socket = await sendHalf(running, 'GET /api/health', { headers, bytes: 0, sent: 0 });
      const status = await answerOn(socket);
      assert.equal(status !== 400 && status !== 431 && status !== null, isRead, `${bytes}: ${status}`);
      socket.destroy();
    }
  });
});

describe('a body that never ends', () => {
  it('is not waited for without the permission of the route, at an unknown address, or in an upload nobody began', async () => {
    await using running = await runBackend();
    await running.setUp();
    const octets = { 'content-type': 'application/octet-stream' };
    const cases = [
      { line: 'POST /api/automations', headers: json, bytes: 200_000, status: 401 },
      { line: 'POST /api/backup/restore', headers: { ...json, ...bearer('no.such.token') }, bytes: 50, status: 401 },
      { line: 'POST /provisioning/wifi', headers: json, bytes: 200_000, status: 404 },
      { line: 'POST /api/nothing', headers: json, bytes: 200_000, status: 404 },
      { line: 'PUT /api/auth/login', headers: json, bytes: 200_000, status: 404 },
      {
        line: `PUT /api/backup/uploads/${'A'.repeat(43)}?offset=0`,
        headers: octets,
        bytes: 1024 * 1024,
        status: 404,
      },
    ];
    const answers = cases.map(async ({ line, headers, bytes }) => {
      const socket = await sendHalf(running, line, { headers, bytes });
      const status = await answerOn(socket);
      socket.destroy();
      return `${line} ${status}`;
    });
    assert.deepEqual(
      await Promise.all(answers),
      cases.map(({ line, status }) => `${line} ${status}`),
    );
  });

  it('has at most 4 KiB on every route that is open to strangers', async () => {
    await using running = await runBackend();
    const { paths } = (await running.http.inject('/api/openapi.json')).json<{
      paths: Record<string, Record<string, { security?: unknown[] }>>;
    }>();
    const open = Object.entries(paths).flatMap(([path, methods]) =>
      ['post', 'put', 'patch', 'delete'].flatMap((method) => {
        const operation = methods[method];
        return operation === undefined || (operation.security?.length ?? 0) > 0 || path.includes('{')
          ? []
          : [`${method.toUpperCase()} ${path}`];
      }),
    );
    assert.ok(open.includes('POST /api/auth/login') && open.includes('POST /api/auth/setup'), open.join());
    const answers = open.map(async (line) => {
      const large = await sendHalf(running, line, { headers: json, bytes: 4097 });
      const inParts = await sendHalf(running, line, { headers: json, bytes: 'chunked', sent: 4097 });
      const statuses = [await answerOn(large), await answerOn(inParts)];
      for (const socket of [large, inParts]) socket.destroy();
      return { line, statuses };
    });
    assert.deepEqual(
      await Promise.all(answers),
      open.map((line) => ({ line, statuses: [413, 413] })),
    );
  });
});

describe('bodies of many connections', () => {
  const logIn = async (running: RunningBackend): Promise<number | undefined> => {
    const { email, password } = owner;
    const asked = ask(`${running.backend.url}/api/auth/login`, { method: 'POST', headers: json, agent: false });
    asked.end(JSON.stringify({ email, password }));
    const [answer] = await once(asked, 'response');
    await text(answer);
    return answer.statusCode;
  };
  const openOf = (sockets: readonly Socket[]): number => sockets.filter((socket) => !socket.destroyed).length;

  it('take a share of the memory for each member, and the owner is answered', async () => {
    await using running = await runBackend();
    const { accessToken } = await running.setUp();
    const bytes = 250_000;
    const half = () =>
      sendHalf(running, 'POST /api/automations', {
        headers: { ...json, ...bearer(accessToken) },
        bytes,
        sent: bytes - 1,
      });
    const sockets: Socket[] = [];
    for (let count = 0; count < 60; count += 1) sockets.push(await half());
    await until('the oldest are ended', () => openOf(sockets) <= Math.floor((4 * 1024 * 1024) / bytes));
    assert.ok(openOf(sockets) > 0 && sockets[0]?.destroyed === true);
    assert.equal(await logIn(running), 200);
    for (const socket of sockets) socket.destroy();
  });

  it('take a share of the memory for each address of a stranger, behind the proxy too', async () => {
    await using running = await runBackend();
    await running.setUp();
    const sockets: Socket[] = [];
    for (let count = 0; count < 600; count += 1) {
      const from = { 'x-forwarded-for': `2001:db8:1:2::${count.toString(16)}` };
      sockets.push(await sendHalf(running, 'POST /api/auth/login', { headers: { ...json, ...from }, bytes: 4096 }));
    }
    await until('the oldest are ended', () => openOf(sockets) <= Math.floor((4 * 1024 * 1024) / (12 * 1024)));
    assert.ok(openOf(sockets) > 0);
    assert.equal(await logIn(running), 200);
    for (const socket of sockets) socket.destroy();
  });

  it('do not make the connections without a request too many', async () => {
    await using running = await runBackend();
    await running.setUp();
    const { hostname, port } = new URL(running.backend.url);
    const sockets: Socket[] = [];
    for (let count = 0; count < 2_100; count += 1) {
      const socket = connect(Number(port), hostname);
      socket.on('error', () => undefined);
      sockets.push(socket);
      await once(socket, 'connect');
    }
    await until('the oldest are ended', () => openOf(sockets) <= 2_048);
    assert.equal(await logIn(running), 200);
    for (const socket of sockets) socket.destroy();
  });
});
