import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { fetchSmallFile } from './http-client.ts';

const options = { maxBytes: 100, etag: null, signal: new AbortController().signal };

async function serve(listener: RequestListener): Promise<AsyncDisposable & { url: URL }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { url: new URL(`http://127.0.0.1:${port}/manifest.json`), [Symbol.asyncDispose]: close };
}

test('reads a file and asks for it conditionally the next time', async () => {
  await using server = await serve((request, response) => {
    response.setHeader('etag', '"1"');
    response.statusCode = request.headers['if-none-match'] === '"1"' ? 304 : 200;
    response.end(response.statusCode === 200 ? '{"a":1}' : undefined);
  });
  const first = await fetchSmallFile(server.url, options);
  assert.ok(first.kind === 'ok' && first.etag === '"1"');
  assert.equal(new TextDecoder().decode(first.bytes), '{"a":1}');
  assert.equal((await fetchSmallFile(server.url, { ...options, etag: '"1"' })).kind, 'not_modified');
});

test('follows redirects within the scheme, and not for ever', async () => {
  await using server = await serve((request, response) => {
    if (request.url === '/end') return response.end('["there"]');
    const next: Record<string, string> = { '/manifest.json': '/middle', '/middle': '/end', '/endless': '/endless' };
    response.writeHead(302, { location: next[request.url ?? ''] }).end();
  });
  const answer = await fetchSmallFile(server.url, options);
  assert.equal(answer.kind === 'ok' && new TextDecoder().decode(answer.bytes), '["there"]');
  const endless = await fetchSmallFile(new URL('/endless', server.url), options);
  assert.deepEqual(endless, { kind: 'unavailable', reason: 'redirected too often' });
});

test('does not follow a redirect to another scheme', async () => {
  for (const location of ['file:///etc/hostname', 'data:text/plain,x', 'ftp://127.0.0.1/x', 'http://[']) {
    await using server = await serve((_, response) => response.writeHead(302, { location }).end());
    assert.equal((await fetchSmallFile(server.url, options)).kind, 'rejected', location);
  }
});

test('stops reading at the limit, whatever the server announced', async () => {
  await using server = await serve((_, response) => {
    const timer = setInterval(() => response.write('x'.repeat(60)), 1);
    response.on('close', () => clearInterval(timer));
  });
  assert.deepEqual(await fetchSmallFile(server.url, options), { kind: 'rejected', reason: 'larger than 100 bytes' });
});

test('distinguishes a missing file from one that must not be used', async () => {
  await using server = await serve((_, response) => response.writeHead(503).end());
  assert.deepEqual(await fetchSmallFile(server.url, options), {
    kind: 'unavailable',
    reason: 'the server answered 503',
  });
  await using empty = await serve((_, response) => response.writeHead(404).end());
  assert.deepEqual(await fetchSmallFile(empty.url, options), {
    kind: 'unavailable',
    reason: 'the server answered 404',
    missing: true,
  });
  const closed = await serve((_, response) => response.end());
  await closed[Symbol.asyncDispose]();
  assert.deepEqual(await fetchSmallFile(closed.url, options), { kind: 'unavailable', reason: 'ECONNREFUSED' });
});

test('reads a file of a mounted stick', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'station-fetch-'));
  try {
    await writeFile(join(folder, 'manifest.json'), 'content');
    const answer = await fetchSmallFile(pathToFileURL(join(folder, 'manifest.json')), options);
    assert.ok(answer.kind === 'ok' && answer.etag === null);
    const absent = await fetchSmallFile(pathToFileURL(join(folder, 'absent.json')), options);
    assert.deepEqual(absent, { kind: 'unavailable', reason: 'ENOENT', missing: true });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('a web page in place of the file is the network’s, not the publisher’s', async () => {
  for (const body of ['<!doctype html><title>Log in</title>', '\ufeff\n <html>', '<?xml version="1.0"?><html/>']) {
    await using server = await serve((_, response) => response.writeHead(200).end(body));
    const answer = await fetchSmallFile(server.url, options);
    assert.ok(answer.kind === 'unavailable' && /log-in/.test(answer.reason), body);
  }
});

test('what begins as no file of a publisher is none: an empty answer, a text of a firewall, a file of another kind', async () => {
  for (const body of [
    '',
    ' \n',
    'Access denied by policy 17',
    'version: 1.2.3',
    'window.location="/login"',
    Buffer.from('H4sI', 'base64'),
  ]) {
    await using server = await serve((_, response) => response.writeHead(200).end(body));
    const answer = await fetchSmallFile(server.url, options);
    assert.ok(answer.kind === 'unavailable' && /something else/.test(answer.reason), String(body));
  }
  for (const body of ['{"version"', '\ufeff {}', '[]', 'untrusted comment: x\n']) {
    await using server = await serve((_, response) => response.writeHead(200).end(body));
    assert.equal((await fetchSmallFile(server.url, options)).kind, 'ok', body);
  }
});

test('a server that asks to wait says for how long', async () => {
  await using server = await serve((_, response) => response.writeHead(503, { 'retry-after': '90' }).end());
  assert.deepEqual(await fetchSmallFile(server.url, options), {
    kind: 'unavailable',
    reason: 'the server answered 503',
    retryAfterMs: 90_000,
  });
});
