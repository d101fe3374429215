import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { test } from 'node:test';
import { openDownload } from './http-download.ts';

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

/** Answers with exactly these characters. */
async function serveRaw(answer: string): Promise<AsyncDisposable & { url: URL }> {
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => socket.end(answer));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${port}/a.bin`), [Symbol.asyncDispose]: async () => void server.close() };
}

test('a page in place of a large file is no file, however the server writes its type', async () => {
  for (const [type, kind] of [
    ['text/html; charset=utf-8', 'unavailable'],
    ['Text/HTML', 'unavailable'],
    ['application/xhtml+xml', 'unavailable'],
    ['application/octet-stream', 'ok'],
    ['application/macbinary', 'ok'],
  ] as const) {
    await using server = await serve((_, response) => response.writeHead(200, { 'content-type': type }).end('x'));
    const opened = await openDownload(server.url, { offset: 0, etag: null, signal: new AbortController().signal });
    assert.equal(opened.kind, kind, type);
    if (opened.kind === 'ok') for await (const chunk of opened.body) assert.equal(chunk.length, 1);
  }
});

test('a page that comes compressed is a page', async () => {
  const page = { 'content-type': 'text/html', 'content-encoding': 'gzip' };
  await using server = await serve((_, response) => response.writeHead(200, page).end('x'));
  const opened = await openDownload(server.url, { offset: 0, etag: null, signal: new AbortController().signal });
  assert.equal(opened.kind, 'unavailable');
});

test('a file arrives as it is stored: a name of its coding changes nothing, and compression on the way is named', async () => {
  for (const [path, coding, kind] of [
    ['a.bin', '', 'ok'],
    ['a.bin', 'Identity', 'ok'],
    ['a.bin', 'aws-chunked', 'ok'],
    ['a.bin.gz?1', 'gzip', 'ok'],
    ['a.bin.gz', 'x-gzip', 'ok'],
    ['a.bin', 'GZIP', 'rejected'],
    ['a.bin.gz', 'br', 'rejected'],
  ] as const) {
    await using server = await serve((_, response) => response.writeHead(200, { 'content-encoding': coding }).end('x'));
    const url = new URL(path, server.url);
    const opened = await openDownload(url, { offset: 0, etag: null, signal: new AbortController().signal });
    assert.equal(opened.kind, kind, `${path} ${coding}`);
    if (opened.kind === 'ok') assert.equal(Buffer.concat(await Array.fromAsync(opened.body)).toString(), 'x');
  }
});

test('a file in pieces of one byte is left, and one in small pieces is read', async () => {
  for (const [size, reason] of [
    [1, /^the server sends tiny pieces$/],
    [100, null],
  ] as const) {
    const chunk = `${size.toString(16)}\r\n${'x'.repeat(size)}\r\n`;
    await using server = await serveRaw(
      `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${chunk.repeat(20_000)}0\r\n\r\n`,
    );
    const opened = await openDownload(server.url, { offset: 0, etag: null, signal: new AbortController().signal });
    assert.ok(opened.kind === 'ok');
    const read = Array.fromAsync(opened.body);
    if (reason !== null) await assert.rejects(read, { name: 'ConnectionLost', message: reason });
    else assert.equal(Buffer.concat(await read).length, 20_000 * size);
  }
});
