import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request, type Server } from 'node:http';
import { request as requestHttps } from 'node:https';
import type { AddressInfo, LookupFunction } from 'node:net';
import { describe, test } from 'node:test';
import { hostToFind, noProxy, proxyFor, useOutgoingProxy } from './outgoing-proxy.ts';

type Seen = { server: Server; port: number; lines: string[]; headers: (string | undefined)[] };

async function listen(address = '127.0.0.1'): Promise<Seen & Disposable> {
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
  server.listen(0, address);
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
  await askByModule(url);
}

/** Every name is that of 127.0.0.2. */
async function askByModule(url: string): Promise<void> {
  const lookup: LookupFunction = (_host, { all }, done) =>
    all === true ? done(null, [{ address: '127.0.0.2', family: 4 }]) : done(null, '127.0.0.2', 4);
  const sent = (url.startsWith('https:') ? requestHttps : request)(url, url.includes('example') ? { lookup } : {});
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
    const except = { ...proxy, except: 'a.example' };
    assert.equal(hostToFind(new URL('https://a.example'), except), 'a.example');
  });

  const rows: readonly (readonly [except: string, direct: string, through: string])[] = [
    ['192.168.0.0/16', 'http://192.168.7.9:5006', 'http://192.169.0.1'],
    ['10.1.2.3/8', 'https://10.255.0.1', 'https://11.0.0.0'],
    ['192.0.2.9/32', 'http://192.0.2.9', 'http://192.0.2.8'],
    ['0.0.0.0/0', 'http://203.0.113.5', 'http://nas.example'],
    ['intern.example', 'http://registry.intern.example', 'http://notintern.example'],
    ['.intern.example', 'http://intern.example', 'http://notintern.example'],
    ['*.Intern.Example.', 'https://a.b.INTERN.example.', 'https://example'],
    ['a.example , b.example:8443', 'https://b.example:8443', 'https://b.example'],
    ['b.example:443', 'wss://b.example/link', 'http://b.example'],
    ['2001:db8::5', 'http://[2001:db8::5]', 'http://[2001:db8::6]'],
    ['[2001:db8::5]:8080', 'http://[2001:db8::5]:8080', 'http://[2001:db8::5]'],
    ['2001:DB8:0:0::5', 'http://[2001:db8::5]', 'http://[2001:db8::6]'],
    ['[2001:DB8:0::5]:8080', 'http://[2001:db8::5]:8080', 'http://[2001:db8::5]'],
    ['fd00::/8', 'http://[fdab:1::7]:5006', 'http://[fe80::1]'],
    ['FE80::/10', 'http://[fe80::1]', 'http://[fec0::1]'],
    ['2001:db8::5/128', 'http://[2001:db8::5]', 'http://[2001:db8::6]'],
    ['::/0', 'http://[2001:db8::6]', 'http://192.0.2.1'],
    ['fe80::1%eth0, fd00::/129', 'http://[::1]', 'http://[fd00::1]'],
    ['[::1]', 'http://[::1]:8080', 'http://[::2]'],
    ['0.1', 'http://127.0.0.1', 'http://192.0.0.1'],
    ['', 'http://nas.local:8080', 'http://nas.notlocal'],
  ];
  for (const [except, direct, through] of rows) {
    test(`with NO_PROXY=${except} is not asked for ${direct}, and for ${through}`, () => {
      const address = 'http://proxy.example:3128';
      const proxy = { http: address, https: address, except };
      assert.equal(proxyFor(new URL(direct), proxy), null);
      assert.equal(proxyFor(new URL(through), proxy), address);
    });
  }

  test('is not asked where * names everything', () => {
    const proxy = { http: 'http://proxy.example', https: null, except: 'x, *' };
    assert.equal(proxyFor(new URL('http://a.example'), proxy), null);
  });

  test('is asked by the modules of Node by the same rule', async () => {
    using proxy = await listen();
    using own = await listen('127.0.0.2');
    const except = '127.0.0.0/8, fd00::/8, intern.example';
    const undo = useOutgoingProxy({ ...noProxy, http: `http://127.0.0.1:${proxy.port}`, except });
    try {
      for (const host of ['127.0.0.2', 'a.intern.example', 'notintern.example'])
        await askByModule(`http://${host}:${own.port}/${host}`);
    } finally {
      undo();
    }
    assert.deepEqual(own.lines, ['GET /127.0.0.2', 'GET /a.intern.example']);
    assert.deepEqual(proxy.lines, [`GET http://notintern.example:${own.port}/notintern.example`]);
  });
});
