import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
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
