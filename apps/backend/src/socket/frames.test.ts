import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { WebSocket, WebSocketServer } from 'ws';
import { textFrames } from './frames.ts';

test('a client reads messages of every length out of one write, in their order', async () => {
  const texts = [0, 1, 125, 126, 65_535, 65_536, 200_000].map((length) => 'x'.repeat(length));
  texts.push('Світло увімкнено 💡');
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1' });
  await once(server, 'listening');
  server.on('connection', (_, request) => {
    request.socket.write(textFrames(texts.map((text) => ({ text, bytes: Buffer.byteLength(text) }))));
  });
  const client = new WebSocket(`ws://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const heard: string[] = [];
  await new Promise<void>((resolve, reject) => {
    client.on('error', reject);
    client.on('message', (data: Buffer, isBinary) => {
      assert.equal(isBinary, false);
      if (heard.push(data.toString()) === texts.length) resolve();
    });
  });
  assert.deepEqual(heard, texts);
  client.terminate();
  server.close();
});
