import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { noProxy } from '@station/kit/outgoing-proxy';
import { isAddressOrSubnet, type ResolveName } from '../../core/adapters/guarded-http.ts';
import { createWebhookClient, type WebhookAnswer } from './webhook-client.ts';

type Seen = { method: string; path: string; body: string; headers: IncomingMessage['headers'] };

async function listener(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const seen: Seen[] = [];
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => (body += String(part)));
    request.on('end', () => {
      seen.push({ method: request.method ?? '', path: request.url ?? '', body, headers: request.headers });
      answer(request, response);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const dispose = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { seen, port, connections: () => seen.length, [Symbol.asyncDispose]: dispose };
}

const ok = (_request: IncomingMessage, response: ServerResponse): void => void response.end('fine');

async function call(
  url: string,
  options: { allow?: string[]; resolve?: ResolveName; method?: 'GET'; signal?: AbortSignal } = {},
): Promise<WebhookAnswer> {
  const { allow = [], resolve, method = 'POST', signal = new AbortController().signal } = options;
  await using client = createWebhookClient({ allow, proxy: noProxy, ...(resolve ? { resolve } : {}) });
  return await client.call({ url, method, body: method === 'GET' ? null : { hello: 'there' }, signal });
}

const refused = (answer: WebhookAnswer): void => {
  assert.ok(answer.kind === 'failed' && /not a public one/.test(answer.reason), JSON.stringify(answer));
};

test('a webhook is posted as JSON, with the login of its address, and its status is returned', async () => {
  await using server = await listener(ok);
  const url = `http://anna:s3cret%21@127.0.0.1:${server.port}/hook?key=abc`;
  assert.deepEqual(await call(url, { allow: ['127.0.0.0/8'] }), { kind: 'answered', statusCode: 200 });
  const [seen] = server.seen;
  assert.deepEqual([seen?.method, seen?.path, seen?.body], ['POST', '/hook?key=abc', '{"hello":"there"}']);
  assert.equal(seen?.headers['content-type'], 'application/json');
  assert.equal(seen?.headers.authorization, `Basic ${Buffer.from('anna:s3cret!').toString('base64')}`);
  await call(url, { allow: ['127.0.0.1'], method: 'GET' });
  assert.deepEqual([server.seen[1]?.method, server.seen[1]?.body], ['GET', '']);
});

test('a private address is never called, in whatever notation', async () => {
  await using server = await listener(ok);
  for (const host of [
    '127.0.0.1',
    'localhost',
    '2130706433',
    '0x7f.1',
    '0.0.0.0',
    '[::1]',
    '[::]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[2002:7f00:1::]',
    '10.1.2.3',
    '172.31.0.1',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '[fd00::1]',
    '[fe80::1]',
    '224.0.0.1',
    '255.255.255.255',
  ]) {
    refused(await call(`http://${host}:${server.port}/`));
  }
  assert.equal(server.connections(), 0);
});

test('a name is refused when any of its addresses is private', async () => {
  await using server = await listener(ok);
  const resolve: ResolveName = async () => [
    { address: '93.184.216.34', family: 4 },
    { address: '127.0.0.1', family: 4 },
  ];
  refused(await call(`http://mixed.example:${server.port}/`, { resolve }));
  assert.equal(server.connections(), 0);
});

test('a name that changes its address is connected at the checked address, or not at all', async () => {
  await using server = await listener(ok);
  let asked = 0;
  // The first lookup gives a public address, later ones the machine itself.
  const resolve: ResolveName = async () => [{ address: asked++ === 0 ? '127.0.0.2' : '127.0.0.1', family: 4 }];
  const answer = await call(`http://rebind.example:${server.port}/`, { resolve, allow: ['127.0.0.2'] });
  assert.ok(answer.kind === 'failed', 'nobody listens where it was found good');
  assert.equal(server.connections(), 0, 'and the other address was not called');
  assert.equal(asked, 1, 'what was checked is what was connected to');
  refused(await call(`http://rebind.example:${server.port}/`, { resolve, allow: ['127.0.0.2'] }));
});

test('a redirect is not followed', async () => {
  await using inner = await listener(ok);
  await using outer = await listener((_request, response) => {
    response.writeHead(302, { location: `http://127.0.0.1:${inner.port}/` }).end();
  });
  const url = `http://127.0.0.1:${outer.port}/`;
  assert.deepEqual(await call(url, { allow: ['127.0.0.1'] }), { kind: 'answered', statusCode: 302 });
  assert.equal(inner.connections(), 0);
});

test('an endless answer is not read to its end', async () => {
  let written = 0;
  await using server = await listener((_request, response) => {
    const part = Buffer.alloc(64 * 1024);
    const more = (): void => {
      while (!response.destroyed && response.write(part)) written += part.length;
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  });
  const answer = await call(`http://127.0.0.1:${server.port}/`, { allow: ['127.0.0.1'] });
  assert.equal(answer.kind, 'answered');
  assert.ok(written < 32 * 1024 * 1024, `${written} bytes were taken`);
});

test('a call without an answer is aborted when the backend stops; a call whose connection is cut fails', async () => {
  await using silent = await listener(() => undefined);
  const stopping = new AbortController();
  const waiting = call(`http://127.0.0.1:${silent.port}/`, { allow: ['127.0.0.1'], signal: stopping.signal });
  while (silent.connections() === 0) await new Promise((resolve) => setImmediate(resolve));
  stopping.abort(new Error('stopping'));
  await assert.rejects(waiting, /stopping/);
  await using rude = await listener((request) => void request.socket.destroy());
  const answer = await call(`http://127.0.0.1:${rude.port}/secret-path?key=abc`, { allow: ['127.0.0.1'] });
  assert.ok(answer.kind === 'failed');
  assert.doesNotMatch(answer.reason, /secret|abc/);
});

test('the allow list takes addresses and subnets only', () => {
  const entries = ['10.0.0.1', '192.168.1.0/24', 'fd00::/8', 'fe80::1', 'lan', '10.0.0.0/33', '10.0.0.0/', '1/2/3', ''];
  assert.deepEqual(entries.filter(isAddressOrSubnet), ['10.0.0.1', '192.168.1.0/24', 'fd00::/8', 'fe80::1']);
});
