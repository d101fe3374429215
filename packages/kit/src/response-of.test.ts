import assert from 'node:assert/strict';
import { once } from 'node:events';
import { get } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { test } from 'node:test';
import { responseOf } from './response-of.ts';

const answers: readonly (readonly [said: string, answer: string | null, status: number | null])[] = [
  ['an answer', 'HTTP/1.1 204 No Content\r\n\r\n', 204],
  ['an end without an answer', null, null],
  ['a part of a head', 'HTTP/1.1 20', null],
  ['a switch of protocols', 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: foo\r\n\r\n', null],
];
for (const [said, answer, status] of answers)
  test(`a request that gets ${said} is over`, async () => {
    const server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.end(answer ?? ''));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const request = get({ port: (server.address() as AddressInfo).port, agent: false });
    const answered = responseOf(request);
    if (status === null) await assert.rejects(answered);
    else {
      const response = await answered;
      assert.equal(response.statusCode, status);
      response.resume();
    }
    server.close();
  });
