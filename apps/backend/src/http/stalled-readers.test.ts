import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import fastify from 'fastify';
import { endStalledReaders } from './stalled-readers.ts';

const checkMs = 20;

async function serve(body: () => Readable | string) {
  const app = fastify();
  endStalledReaders(app, { checkMs, leastBytes: 64 * 1024 });
  app.get('/', async (_request, reply) => reply.send(body()));
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const ask = (connection = 'close'): Socket => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nConnection: ${connection}\r\n\r\n`);
    return socket;
  };
  return { ask, [Symbol.asyncDispose]: () => app.close() };
}

describe('the reader of answers', () => {
  it('is ended when it reads nothing: of a stream', async () => {
    const chunk = 'x'.repeat(64 * 1024);
    const endless = new Readable({
      read() {
        this.push(chunk);
      },
    });
    await using server = await serve(() => endless);
    const socket = server.ask();
    socket.pause();
    // Without an end the stream stays open, and the test runs into its time limit.
    await once(endless, 'close');
    socket.destroy();
  });

  it('is ended when it reads nothing: of an answer from memory', async () => {
    await using server = await serve(() => 'x'.repeat(64 * 1024 * 1024));
    const socket = server.ask();
    socket.pause();
    await once(socket, 'connect');
    for (let reads = 0; reads < 5; reads += 1) await new Promise((resolve) => setTimeout(resolve, 2 * checkMs));
    socket.resume();
    assert.ok((await text(socket)).length < 64 * 1024 * 1024);
  });

  it('is ended when it reads none of many small ones', async () => {
    await using server = await serve(() => 'x'.repeat(32 * 1024));
    const socket = server.ask('keep-alive');
    socket.pause();
    const ended = new Promise((resolve) => socket.once('close', resolve));
    const asking = setInterval(() => socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'), 1);
    await ended;
    clearInterval(asking);
  });

  it('is not ended while it waits for the station', async () => {
    async function* slow() {
      yield 'first ';
      await new Promise((resolve) => setTimeout(resolve, 5 * checkMs));
      yield 'last';
    }
    await using server = await serve(() => Readable.from(slow()));
    assert.match(await text(server.ask()), /first [^]*last/);
  });
});
