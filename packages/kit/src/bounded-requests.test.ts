import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { boundRequests } from './bounded-requests.ts';
import { createByteBudget } from './byte-budget.ts';

const mebibyte = 1024 * 1024;

for (const { count, atLeast, atMost } of [
  { count: 8, atLeast: 15, atMost: 18 },
  { count: 20, atLeast: 1.9, atMost: 5 },
])
  test(`${count} refused bodies are read at ${Math.round(atLeast)} MiB a second, and then answered`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    await using running = await startRefusing();
    const each = 3 * mebibyte;
    const answers = Promise.all(Array.from({ length: count }, () => sendBody(running.port, each)));
    await running.begins(count);
    await running.settles();
    for (let slice = 1; slice < 20; slice += 1) {
      t.mock.timers.tick(50);
      await running.settles();
    }
    const oneSecond = running.readBytes() / mebibyte;
    assert.ok(oneSecond >= atLeast && oneSecond <= atMost, `${oneSecond} MiB were read`);

    let isAnswered = false;
    void answers.then(() => (isAnswered = true));
    while (!isAnswered) {
      t.mock.timers.tick(50);
      await turn();
    }
    for (const answer of await answers) assert.match(answer, /^HTTP\/1\.1 401 /);
    assert.equal(running.readBytes(), count * each);
  });

test('of many refused bodies the oldest gets no answer, and its connection ends late', async () => {
  await using running = await startRefusing();
  const oldest = sendBody(running.port, 8 * mebibyte);
  await running.begins(1);
  const others = Array.from({ length: 32 }, () => sendBody(running.port, 8 * mebibyte));
  await assert.rejects(oldest);
  await Promise.allSettled(others);
});

test('after a body that does not end the connection is closed', { timeout: 60_000 }, async () => {
  await using running = await startRefusing();
  const socket = connect(running.port, '127.0.0.1');
  socket.write(head(mebibyte));
  assert.match(await text(socket), /\r\nconnection: close\r\n/i);
});

test('a refused body in chunks of one byte ends its connection', async () => {
  await using running = await startRefusing();
  const socket = connect(running.port, '127.0.0.1').on('error', () => undefined);
  socket.write(head(0).replace('content-length: 0', 'transfer-encoding: chunked'));
  socket.write('1\r\n \r\n'.repeat(50_000));
  await new Promise((closed) => socket.once('close', closed));
  assert.ok(running.readBytes() < 20_000, `${running.readBytes()} chunks were read`);
});

test('of a thousand requests that one connection sends at once eight are begun', async () => {
  await using running = await startRefusing();
  const socket = connect(running.port, '127.0.0.1').on('error', () => undefined);
  socket.write('POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n'.repeat(1_000));
  await new Promise((closed) => socket.once('close', closed));
  assert.equal(running.begun(), 8);
});

test('headers and bodies that do not arrive in time leave no connection behind', async () => {
  const server = createServer({ headersTimeout: 50, requestTimeout: 50, connectionsCheckingInterval: 20 });
  boundRequests(server, createByteBudget({ all: mebibyte, client: mebibyte }));
  server.on('clientError', (_error, socket) => socket.end('HTTP/1.1 408 Request Timeout\r\n\r\n'));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const halves = ['POST / HTTP/1.1\r\n', `${head(2)}{`];
  const answers = halves.map((half) => {
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    socket.write(half);
    return text(socket);
  });
  for (const answer of await Promise.all(answers)) assert.match(answer, /^HTTP\/1\.1 408 /);
  server.close();
  await once(server, 'close');
});

test('a request whose client went away before it was admitted holds no room', async () => {
  const server = createServer();
  const budget = createByteBudget({ all: mebibyte, client: mebibyte });
  const bounded = boundRequests(server, budget);
  const admitted = Promise.withResolvers<void>();
  server.on('request', (request, response) => {
    response.once('close', () => {
      bounded.admit(request, response, { client: 'one', isStranger: false }, 100);
      admitted.resolve();
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  socket.end(`${head(2)}{}`);
  await admitted.promise;
  server.close();
  await once(server, 'close');
  assert.equal(budget.takenBytes(), 0);
});

const head = (bytes: number): string =>
  `POST / HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive\r\ncontent-length: ${bytes}\r\n\r\n`;

/** Writes all of a body before it reads. It leaves its side open: Node answers nobody who closed it. @returns the answer. */
async function sendBody(port: number, bytes: number): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.write(head(bytes).replace('keep-alive', 'close'));
  socket.write(Buffer.alloc(bytes));
  return text(socket);
}

/** Refuses every request. */
async function startRefusing() {
  const server = createServer();
  const bounded = boundRequests(server, createByteBudget({ all: mebibyte, client: mebibyte }));
  const requests: IncomingMessage[] = [];
  let readBytes = 0;
  server.on('request', (request, response) => {
    requests.push(request);
    request.on('data', (chunk: Buffer) => (readBytes += chunk.length));
    void bounded.discard(request, response).then(() => response.writeHead(401).end());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    readBytes: () => readBytes,
    begun: () => requests.length,
    begins: async (count: number): Promise<void> => {
      while (requests.length < count) await turn();
    },
    /** Waits until nothing is read any more. */
    settles: async (): Promise<void> => {
      while (requests.some((request) => !request.isPaused() && !request.complete)) await turn();
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
