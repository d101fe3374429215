import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { noProxy } from '@station/kit/outgoing-proxy';
import { createAddressGuard, createGuardedHttp, homeNetworks, NotPublicError } from './guarded-http.ts';

const guardFor = (address: string) =>
  createAddressGuard({
    allow: homeNetworks,
    resolve: async () => [{ address, family: address.includes(':') ? 6 : 4 }],
  });

test('servers that an admin enters may be at home, but never this machine or a link-local address', async () => {
  for (const address of ['192.168.1.5', '10.0.0.2', '172.20.0.3', '100.64.0.1', 'fd00::5', '1.1.1.1'])
    assert.deepEqual((await guardFor(address).addressesOf('mail.home'))[0]?.address, address);
  for (const address of [
    '127.0.0.1',
    '169.254.169.254',
    '0.0.0.0',
    '::1',
    'fe80::1',
    '::ffff:127.0.0.1',
    '224.0.0.1',
  ]) {
    await assert.rejects(guardFor(address).addressesOf('mail.home'), NotPublicError, address);
    await assert.rejects(guardFor('1.1.1.1').addressesOf(address), NotPublicError, address);
  }
});

test('a request to an address that is not allowed is never made, and says so', async () => {
  await using http = createGuardedHttp({ allow: [], proxy: noProxy });
  const request = { method: 'POST', headers: {}, body: 'x', signal: new AbortController().signal } as const;
  for (const url of ['http://127.0.0.1:1/a', 'http://192.168.1.1/', 'https://[::1]/', 'ftp://example.org/'])
    assert.partialDeepStrictEqual(await http.send({ ...request, url }), { kind: 'failed', cause: 'not_allowed' }, url);
});

test('a server whose answer never begins, however much it sends, is left', async () => {
  await using http = createGuardedHttp({ allow: ['127.0.0.1'], proxy: noProxy });
  for (const text of ['HTTP/1.1 103 Early Hints\r\n\r\n', '\r\n']) {
    const piece = text.repeat(10_000);
    const server = createTcpServer((socket: Socket) => {
      const send = (): void => {
        while (!socket.destroyed && socket.write(piece));
      };
      socket.on('error', () => undefined).on('drain', send);
      socket.once('data', send);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const answer = await http.send({
      url,
      method: 'POST',
      headers: {},
      body: 'x',
      signal: new AbortController().signal,
    });
    server.close();
    assert.deepEqual(answer, { kind: 'failed', cause: 'no_answer', reason: 'The request failed: no answer.' });
  }
});

/** A proxy that refuses, and so resolves nothing. */
async function refusingProxy() {
  const lines: string[] = [];
  const server = createServer(({ method, url, headers }, response) => {
    lines.push(`${method} ${url} ${headers['proxy-authorization']}`);
    response.writeHead(407).end();
  });
  server.on('connect', ({ url, headers }, socket) => {
    lines.push(`CONNECT ${url} ${headers['proxy-authorization']}`);
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const stop = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return { lines, url: `http://me:secret@127.0.0.1:${(server.address() as AddressInfo).port}`, [Symbol.dispose]: stop };
}

test('behind a proxy, names are left to it that only it knows, and what is private is refused as always', async () => {
  using proxy = await refusingProxy();
  const resolve = async (host: string) => {
    if (host === 'inner.example') return [{ address: '192.168.1.1', family: 4 }];
    // Its server does not answer.
    if (host === 'slow.example') return new Promise<never>(() => undefined);
    throw new Error('ENOTFOUND');
  };
  const outgoing = { http: proxy.url, https: proxy.url, except: 'direct.example' };
  await using http = createGuardedHttp({ allow: [], proxy: outgoing, resolve });
  const send = async (url: string): Promise<string> => {
    const signal = new AbortController().signal;
    const answer = await http.send({ url, method: 'POST', headers: {}, body: 'x', signal });
    return answer.kind === 'failed' ? answer.reason : String(answer.statusCode);
  };
  const notPublic = 'The address is not a public one, and the configuration of the station does not allow it.';
  for (const host of ['127.0.0.1', '192.168.1.1', 'inner.example', '[::1]'])
    assert.equal(await send(`https://${host}/`), notPublic, host);
  assert.deepEqual(proxy.lines, []);
  assert.equal(await send('http://hook.example/a?key=1'), 'The proxy of this network answered 407.');
  assert.equal(await send('https://hook.example/b'), 'The proxy of this network answered 403.');
  assert.match(await send('https://direct.example/'), /^The request failed/);
  const login = `Basic ${btoa('me:secret')}`;
  assert.deepEqual(proxy.lines, [`POST http://hook.example/a?key=1 ${login}`, `CONNECT hook.example:443 ${login}`]);
  assert.equal(await send('https://slow.example/'), 'The proxy of this network answered 403.');
});

test('a proxy for one kind of address is not asked for the other', async () => {
  using proxy = await refusingProxy();
  const resolve = async () => [{ address: '127.0.0.1', family: 4 }];
  await using http = createGuardedHttp({ allow: ['127.0.0.1'], proxy: { ...noProxy, http: proxy.url }, resolve });
  const signal = new AbortController().signal;
  const request = { method: 'GET', headers: {}, body: null, signal } as const;
  assert.equal((await http.send({ ...request, url: 'https://hook.example:1/' })).kind, 'failed');
  assert.deepEqual(proxy.lines, []);
});
