import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, test } from 'node:test';
import { type WebSocket, WebSocketServer } from 'ws';
import { probeSocket } from './socket-probe.ts';

/** @param onSocket what the server does with a link; null: it knows no WebSockets. */
async function probe(onSocket: ((socket: WebSocket) => void) | null): Promise<boolean> {
  const server: Server = createServer((_request, response) => response.writeHead(200).end('page'));
  const sockets = onSocket && new WebSocketServer({ server, path: '/ws' });
  sockets?.on('connection', (socket) => onSocket?.(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    return await probeSocket(new URL(`http://127.0.0.1:${port}/ws`), new AbortController().signal);
  } finally {
    for (const client of sockets?.clients ?? []) client.terminate();
    server.close();
  }
}

describe('a WebSocket', () => {
  test('answers when it refuses the token, or says anything', async () => {
    assert.ok(await probe((socket) => socket.on('message', () => socket.close(4401))));
    assert.ok(await probe((socket) => socket.send('welcome')));
  });

  test('is dead when it is not there, hears nothing, or breaks off', async () => {
    assert.ok(!(await probe(null)));
    assert.ok(!(await probe(() => undefined)));
    assert.ok(!(await probe((socket) => socket.terminate())));
  });

  test('is not waited for once the caller gives up', async () => {
    const ended = AbortSignal.abort(new Error('stopped'));
    await assert.rejects(probeSocket(new URL('http://127.0.0.1:9/ws'), ended), /stopped/);
  });
});
