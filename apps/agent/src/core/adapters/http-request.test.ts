import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { getEventListeners, once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { describe, test } from 'node:test';
import { createServer as createTlsServer } from 'node:tls';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { collectBytes } from '@station/kit/collect-bytes';
import { makeCertificate } from '@station/simulators/notifications/receivers';
import { trust } from '../../../testing/trust.ts';
import { faultOf, followRedirects, readBody, sendRequest } from './http-request.ts';

const never = new AbortController().signal;

type Running = AsyncDisposable & { url: URL; connections: () => Promise<number> };

async function open(server: Server): Promise<Running> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    connections: promisify(server.getConnections.bind(server)),
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

const serve = (listener: RequestListener): Promise<Running> => open(createServer(listener));

/** Answers every request with exactly these characters. */
const serveRaw = (answer: string, { ends = true } = {}): Promise<Running> =>
  open(createTcpServer((socket) => socket.once('data', () => (ends ? socket.end(answer) : socket.write(answer)))));

async function textOf(url: URL, maxBytes = 1000): Promise<string | null> {
  const bytes = await readBody(await sendRequest(url, { signal: never }), maxBytes);
  return bytes && new TextDecoder().decode(bytes);
}

async function eventually(isTrue: () => Promise<boolean> | boolean, what: string): Promise<void> {
  for (let tries = 0; !(await isTrue()); tries += 1) {
    assert.ok(tries < 6_000, what);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const noConnections = (server: Running): Promise<void> =>
  eventually(async () => (await server.connections()) === 0, 'a connection stays open');

describe('a body', () => {
  for (const [what, answer, expected] of [
    ['of the announced length', 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok', 'ok'],
    ['in chunks', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\no\r\n1\r\nk\r\n0\r\n\r\n', 'ok'],
    ['that ends with the connection', 'HTTP/1.0 200 OK\r\n\r\nok', 'ok'],
    ['after interim answers', 'HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok', 'ok'],
    ['of an answer 204', 'HTTP/1.1 204 No Content\r\n\r\n', ''],
    ['of an answer 304 that announces a length', 'HTTP/1.1 304 Not Modified\r\ncontent-length: 99\r\n\r\n', ''],
  ] as const) {
    test(`${what} is read`, async () => {
      await using server = await serveRaw(answer);
      assert.equal(await textOf(server.url), expected);
    });
  }

  for (const [what, answer] of [
    ['shorter than announced', 'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nok'],
    ['without its last chunk', 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n'],
  ] as const) {
    test(`${what} is a fault`, async () => {
      await using server = await serveRaw(answer);
      await assert.rejects(textOf(server.url), { code: 'ECONNRESET' });
    });
  }

  test('that is too large is left, and its connection is closed', async () => {
    await using server = await serve((_, response) => {
      const timer = setInterval(() => response.write('x'.repeat(60)), 1);
      response.on('close', () => clearInterval(timer));
    });
    assert.equal(await textOf(server.url, 100), null);
    await noConnections(server);
  });

  test('in pieces of one byte is left, and its connection is closed', async () => {
    let sent = 0;
    await using server = await serve((_, response) => {
      response.socket?.setNoDelay(true);
      const send = (): void => {
        if (response.destroyed) return;
        response.write('x');
        sent += 1;
        setImmediate(send);
      };
      send();
    });
    await assert.rejects(textOf(server.url, 100_000), { message: 'the server sends tiny pieces' });
    assert.ok(sent < 20_000, `${sent} pieces`);
    await noConnections(server);
  });

  test('that a host stores compressed is unpacked, within the limit', async () => {
    const packed = gzipSync('x'.repeat(900));
    await using server = await serve((_, response) => response.setHeader('content-encoding', 'gzip').end(packed));
    assert.equal(await textOf(server.url), 'x'.repeat(900));
    assert.equal(await textOf(server.url, 899), null);
    await using cut = await serve((_, response) =>
      response.setHeader('content-encoding', 'gzip').end(packed.subarray(0, 15)),
    );
    await assert.rejects(textOf(cut.url), { code: 'Z_BUF_ERROR' });
    await using other = await serve((_, response) => response.setHeader('content-encoding', 'br').end('?'));
    await assert.rejects(textOf(other.url), { message: 'the server sends the content compressed (br)' });
    await noConnections(other);
  });

  test('is taken as it is when the coding that a store of objects names is none', async () => {
    for (const coding of ['', 'Identity', 'aws-chunked', 'utf-8']) {
      await using server = await serve((_, response) => response.setHeader('content-encoding', coding).end('{}'));
      assert.equal(await textOf(server.url), '{}', coding);
    }
    await using both = await serve((_, response) =>
      response.setHeader('content-encoding', 'aws-chunked, gzip').end(gzipSync('{}')),
    );
    assert.equal(await textOf(both.url), '{}');
  });
});

describe('a request', () => {
  test('names the program, accepts plain content only and announces the length of its body', async () => {
    await using server = await serve((request, response) => {
      const { method, headers } = request;
      void collectBytes(request, 1000).then((bytes) =>
        response.end(JSON.stringify({ method, headers, text: Buffer.from(bytes ?? []).toString() })),
      );
    });
    const body = 'Мережа';
    const response = await sendRequest(server.url, { method: 'POST', body, headers: { 'x-own': '1' }, signal: never });
    const { method, headers, text } = JSON.parse(String(await readBody(response, 1000)));
    assert.deepEqual([method, text, headers['content-length'], headers['x-own']], ['POST', body, '12', '1']);
    assert.deepEqual([headers['user-agent'], headers['accept-encoding']], ['station-agent', 'identity']);
  });

  for (const [what, answer, expected] of [
    ['nothing', '', 'ECONNRESET'],
    ['something else than HTTP', 'SSH-2.0-OpenSSH\r\n\r\n', 'HPE_INVALID_CONSTANT'],
    ['a head without an end', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(40_000)}`, 'HPE_HEADER_OVERFLOW'],
    ['interim answers without an end', 'HTTP/1.1 103 Hints\r\n\r\n'.repeat(100_000), 'the server sends no answer'],
    ['empty lines without an end', '\r\n'.repeat(1_000_000), 'the server sends no answer'],
    [
      'another protocol',
      'HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
      'the server ended the connection without an answer',
    ],
  ] as const) {
    test(`that gets ${what} fails`, async () => {
      await using server = await serveRaw(answer);
      const fault = await textOf(server.url).catch(faultOf);
      assert.equal(fault, expected);
      await noConnections(server);
    });
  }

  test('over TLS to a server without TLS fails, and to one that does not answer it ends in time', async () => {
    await using plain = await serve((_, response) => response.end());
    const secure = (url: URL): URL => new URL(url.href.replace('http:', 'https:'));
    const fault = await sendRequest(secure(plain.url), { signal: never }).catch(faultOf);
    assert.equal(fault, 'the server does not answer with TLS (EPROTO)');
    await using silent = await serveRaw('', { ends: false });
    const late = await sendRequest(secure(silent.url), { signal: never, connectMs: 50 }).catch(faultOf);
    assert.equal(late, 'no connection in time');
    await noConnections(silent);
  });

  test('over TLS that gets interim answers without an end fails', async () => {
    const certificate = await makeCertificate();
    using _trusted = trust(certificate.cert);
    const answer = 'HTTP/1.1 103 Hints\r\n\r\n'.repeat(100_000);
    await using server = await open(createTlsServer(certificate, (socket) => socket.end(answer)));
    server.url.protocol = 'https:';
    server.url.hostname = 'localhost';
    const fault = await sendRequest(server.url, { signal: never }).catch(faultOf);
    assert.equal(fault, 'the server sends no answer');
    await noConnections(server);
  });

  test('that gets no head in time ends, and closes its connection', async () => {
    await using server = await serveRaw('', { ends: false });
    const fault = await sendRequest(server.url, { signal: never, headMs: 50 }).catch(faultOf);
    assert.equal(fault, 'no answer in time');
    await noConnections(server);
  });

  test('with a header that HTTP does not allow fails without showing it', async () => {
    for (const token of ['a secret\nwith a second line', 'секрет']) {
      const headers = { authorization: `Bearer ${token}` };
      const error: unknown = await sendRequest(new URL('http://127.0.0.1:1'), { headers, signal: never }).catch(
        (error: unknown) => error,
      );
      assert.match(faultOf(error), /a character that HTTP does not allow/);
      assert.ok(error instanceof Error && !error.message.includes('secret') && !error.message.includes('секрет'));
    }
  });

  test('to a name with several addresses reaches the one that answers', async () => {
    // `localhost` also stands for ::1, where nothing listens.
    await using server = await serve((_, response) => response.end('here'));
    server.url.hostname = 'localhost';
    assert.equal(await textOf(server.url), 'here');
  });

  test('does not go to an address with a password or with another scheme', async () => {
    await using server = await serve((_, response) => response.end());
    server.url.username = 'somebody';
    await assert.rejects(sendRequest(server.url, { signal: never }), /contains a user name or password/);
    assert.equal(await server.connections(), 0);
    await assert.rejects(sendRequest(new URL('ftp://127.0.0.1/'), { signal: never }), { code: 'ERR_INVALID_PROTOCOL' });
  });

  test('goes through a proxy when the environment names one', async () => {
    await using proxy = await serve((request, response) => response.end(`by proxy: ${request.url}`));
    const program = `
      const { sendRequest, readBody } = await import(${JSON.stringify(import.meta.resolve('./http-request.ts'))});
      const response = await sendRequest(new URL('http://station.invalid/x'), { signal: AbortSignal.timeout(60_000) });
      process.stdout.write(await readBody(response, 1000));`;
    const env = { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url.href, NO_PROXY: '' };
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', program], { env });
    assert.equal(stdout, 'by proxy: http://station.invalid/x');
  });
});

describe('a signal', () => {
  const reason = new Error('enough');

  test('ends a request before it starts', async () => {
    await assert.rejects(sendRequest(new URL('http://127.0.0.1:1'), { signal: AbortSignal.abort(reason) }), reason);
  });

  test('ends a request that waits for a connection or for an answer, with its reason', async () => {
    await using server = await serveRaw('', { ends: false });
    for (const scheme of ['http:', 'https:']) {
      const stopping = new AbortController();
      const asked = sendRequest(new URL(server.url.href.replace('http:', scheme)), { signal: stopping.signal });
      setTimeout(() => stopping.abort(reason), 30);
      await assert.rejects(asked, reason);
      await noConnections(server);
    }
  });

  test('ends a body with its reason, and closes the connection', async () => {
    await using server = await serve((_, response) => response.write('begin'));
    const stopping = new AbortController();
    const response = await sendRequest(server.url, { signal: stopping.signal });
    setTimeout(() => stopping.abort(reason), 30);
    await assert.rejects(readBody(response, 1000), reason);
    await noConnections(server);
  });

  test('aborted as the head arrives, ends the request with its reason', async () => {
    const stopping = new AbortController();
    await using server = await serve((_, response) => {
      response.write('begin', () => stopping.abort(reason));
    });
    const asked = sendRequest(server.url, { signal: stopping.signal });
    await assert.rejects(
      asked.then((response) => readBody(response, 1000)),
      reason,
    );
    await noConnections(server);
  });

  test('keeps nothing of a finished, failed or abandoned request', async () => {
    const { signal } = new AbortController();
    await using server = await serve((_, response) => response.end('x'.repeat(100)));
    for (let times = 0; times < 3; times += 1) {
      await readBody(await sendRequest(server.url, { signal }), 1000);
      (await sendRequest(server.url, { signal })).body.destroy();
      await sendRequest(new URL('http://127.0.0.1:1'), { signal }).catch(() => undefined);
    }
    await noConnections(server);
    await eventually(() => getEventListeners(signal, 'abort').length === 0, 'a listener stays');
  });
});

describe('a redirect', () => {
  const headers = { authorization: 'Bearer secret', accept: 'text/plain' };
  const report: RequestListener = ({ headers }, response) =>
    response.end(`${headers.authorization ?? 'no secret'}, ${headers.accept ?? ''}`);

  async function follow(url: URL): Promise<string> {
    const followed = await followRedirects(url, { headers, signal: never });
    assert.ok(followed.kind === 'response');
    return String(await readBody(followed.response, 1000));
  }

  test('within the origin keeps the credentials', async () => {
    await using server = await serve((request, response) => {
      if (request.url === '/end') return report(request, response);
      response.writeHead(307, { location: '/end' }).end();
    });
    assert.equal(await follow(server.url), 'Bearer secret, text/plain');
  });

  test('to another origin loses the credentials, also on the way back', async () => {
    await using there = await serve(report);
    await using here = await serve((_, response) => response.writeHead(302, { location: there.url.href }).end());
    assert.equal(await follow(here.url), 'no secret, text/plain');
    await using origin = await serve((request, response) => {
      if (request.url === '/end') return report(request, response);
      response.writeHead(302, { location: other.url.href }).end();
    });
    await using other = await serve((_, response) =>
      response.writeHead(302, { location: new URL('/end', origin.url).href }).end(),
    );
    assert.equal(await follow(origin.url), 'no secret, text/plain');
  });

  test('is not followed to another scheme, to no address or for ever', async () => {
    for (const location of ['file:///etc/hostname', 'data:text/plain,x', 'http://[']) {
      await using server = await serve((_, response) => response.writeHead(302, { location }).end());
      const followed = await followRedirects(server.url, { signal: never });
      assert.deepEqual(followed, { kind: 'rejected', reason: 'redirected to another scheme' });
      await noConnections(server);
    }
    await using server = await serve((_, response) => response.writeHead(302, { location: '/' }).end());
    await assert.rejects(followRedirects(server.url, { signal: never }), /redirected too often/);
    await noConnections(server);
  });
});

test('faults that a person can mend are explained, with their code', () => {
  const failed = (code: string): Error => new Error('fetching', { cause: Object.assign(new Error('no'), { code }) });
  assert.equal(faultOf(failed('ECONNREFUSED')), 'ECONNREFUSED');
  assert.match(faultOf(failed('CERT_NOT_YET_VALID')), /check the clock of the station \(CERT_NOT_YET_VALID\)$/);
  assert.match(faultOf(failed('SELF_SIGNED_CERT_IN_CHAIN')), /unknown authority/);
  assert.equal(faultOf(new DOMException('', 'TimeoutError')), 'no answer in time');
  assert.equal(faultOf('thrown'), 'unknown fault');
});
