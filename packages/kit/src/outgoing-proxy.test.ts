import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { hostToFind, noProxy, useOutgoingProxy } from './outgoing-proxy.ts';

type Seen = { server: Server; port: number; lines: string[]; headers: (string | undefined)[] };

async function listen(): Promise<Seen & Disposable> {
  const lines: string[] = [];
  const headers: (string | undefined)[] = [];
  const server = createServer(({ method, url, headers: given }, response) => {
    lines.push(`${method} ${url}`);
    headers.push(given['proxy-authorization']);
    response.end('ok');
  });
  server.on('connect', ({ url }, socket) => {
    lines.push(`CONNECT ${url}`);
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { server, port, lines, headers, [Symbol.dispose]: stop };
}

/** By `fetch`, and by the modules of Node. */
async function ask(url: string): Promise<void> {
  await fetch(url).then(
    (response) => response.body?.cancel(),
    () => undefined,
  );
  const sent = (url.startsWith('https:') ? requestHttps : request)(url);
  sent.end();
  await new Promise<void>((resolve) => {
    sent.once('error', () => resolve());
    sent.once('response', (response) => {
      response.resume();
      response.once('end', resolve);
    });
  });
}

const twice = (lines: readonly string[]): string[] => lines.flatMap((line) => [line, line]);

describe('the proxy of the network', () => {
  test('gets what leaves the home, and nothing of this machine', async () => {
    using proxy = await listen();
    using own = await listen();
    const address = `http://user:pass%20word@127.0.0.1:${proxy.port}`;
    const undo = useOutgoingProxy({ http: address, https: address, except: '.intern.example' });
    try {
      await ask('http://releases.example/manifest.json');
      await ask('https://releases.example/manifest.json');
      for (const host of ['127.0.0.1', 'localhost']) await ask(`http://${host}:${own.port}/health`);
      await ask('http://registry.intern.example/');
      await ask('http://nas.local/');
    } finally {
      undo();
    }
    const seen = ['GET http://releases.example/manifest.json', 'CONNECT releases.example:443'];
    assert.deepEqual(proxy.lines, twice(seen));
    assert.equal(proxy.headers[0], `Basic ${btoa('user:pass word')}`);
    assert.deepEqual(own.lines, twice(['GET /health', 'GET /health']));
    await ask(`http://127.0.0.1:${own.port}/after`);
    assert.equal(proxy.lines.length, 4);
  });

  test('is not used where none is named', async () => {
    using own = await listen();
    useOutgoingProxy(noProxy)();
    useOutgoingProxy({ ...noProxy, except: 'x' })();
    await ask(`http://127.0.0.1:${own.port}/`);
    assert.deepEqual(own.lines, twice(['GET /']));
  });

  test('is what must be found by name, in place of what is behind it', () => {
    const proxy = { ...noProxy, https: 'http://user:word@proxy.example:3128' };
    const found = ['https://a.example/x', 'wss://b.example', 'http://c.example'].map((url) =>
      hostToFind(new URL(url), proxy),
    );
    assert.deepEqual(found, ['proxy.example', 'proxy.example', 'c.example']);
    assert.equal(hostToFind(new URL('https://a.example'), noProxy), 'a.example');
  });
});
