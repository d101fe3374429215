import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, it } from 'node:test';
import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createEventStreams } from './event-stream.ts';
import { startServer, type RunningServer } from '../../testing/running-server.ts';

type Follower = {
  socket: Socket;
  text(): string;
  /** Reads on until `part` has come, after what the call before it waited for. */
  until(part: string): Promise<void>;
};

/** Opens the stream and reads until the first comment shows that it is followed. */
async function follow(running: RunningServer, { socketName }: { socketName?: string } = {}): Promise<Follower> {
  const to = socketName === undefined ? running.tcp : { path: join(running.folder, socketName) };
  const socket = connect(to);
  const chunks: string[] = [];
  let unseen = '';
  socket.setEncoding('utf8');
  socket.on('data', (chunk: string) => {
    chunks.push(chunk);
    unseen += chunk;
  });
  socket.on('error', () => undefined);
  socket.write('GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const until = async (part: string): Promise<void> => {
    while (!unseen.includes(part)) await once(socket, 'data');
    unseen = unseen.slice(unseen.indexOf(part) + part.length);
  };
  await until(': the events');
  return { socket, text: () => chunks.join(''), until };
}

const loud = (logger: AgentLogger, message: string): void =>
  logger.event('unexpected_error', { where: 'test', message });

describe('GET /events', () => {
  it('streams each event as it happens, to everybody who follows', async () => {
    await using running = await startServer();
    loud(running.logger, 'before anybody followed');
    const one = await follow(running);
    const two = await follow(running);
    running.logger.event('config_warning', { problem: 'line\nbreak' });
    await Promise.all([one.until('break'), two.until('break')]);
    for (const { text, socket } of [one, two]) {
      const [head = '', ...rest] = text().split('\r\n\r\n');
      assert.match(head, /content-type: text\/event-stream; charset=utf-8/);
      assert.match(head, /cache-control: no-store/);
      const data = rest
        .join('')
        .split('\n')
        .filter((line) => line.startsWith('data: '));
      assert.equal(data.length, 1);
      const event = JSON.parse(data[0]?.slice('data: '.length) ?? '') as Record<string, unknown>;
      assert.match(String(event['time']), /^\d{4}-.*Z$/);
      assert.deepEqual(
        { ...event, time: '' },
        { time: '', level: 'warn', event: 'config_warning', problem: 'line\nbreak' },
      );
      socket.destroy();
    }
  });

  it('drops a reader that does not read, and keeps the one that does', async () => {
    await using running = await startServer();
    const slow = await follow(running);
    const fast = await follow(running);
    slow.socket.pause();
    const message = 'x'.repeat(64 * 1024);
    const total = 1000;
    for (let sent = 0; sent < total; sent += 1) {
      loud(running.logger, `${sent} ${message}`);
      // The reader that reads gets the time to do so.
      await fast.until(`"message":"${sent} `);
      if (sent % 100 === 99) await new Promise(setImmediate);
    }
    const closed = once(slow.socket, 'close');
    slow.socket.resume();
    await closed;
    assert.ok(slow.text().length < (total * message.length) / 2, `${slow.text().length} of ${total * message.length}`);
    assert.equal(fast.socket.destroyed, false);
    loud(running.logger, 'still there');
    await fast.until('still there');
    fast.socket.destroy();
  });

  it('ends the oldest of too many readers, and never the one on the socket for those on TCP', async () => {
    const socketName = 'agent.sock';
    await using running = await startServer({ socketName });
    const backend = await follow(running, { socketName });
    const readers = [];
    for (let count = 0; count < 33; count += 1) readers.push(await follow(running));
    const [oldest, ...others] = readers;
    if (oldest?.socket.destroyed === false) await once(oldest.socket, 'close');
    const last = others.at(-1);
    loud(running.logger, 'still there');
    await Promise.all([backend.until('still there'), last?.until('still there')]);
    assert.deepEqual(
      others.filter(({ socket }) => socket.destroyed),
      [],
    );
    for (const { socket } of [...readers, backend]) socket.destroy();
  });
});

describe('an event stream', () => {
  it('sends comments while nothing happens, and lets go of everything when the reader leaves', async () => {
    const written: string[] = [];
    const response = Object.assign(
      new Writable({ write: (chunk: Buffer, _encoding, done) => (written.push(chunk.toString()), done()) }),
      { writeHead: () => undefined, req: { socket: {} } },
    ) as unknown as ServerResponse;
    let wake = (): void => undefined;
    const slept: number[] = [];
    const clock: Clock = {
      now: () => 0,
      monotonic: () => 0,
      sleep: (ms, signal) => {
        slept.push(ms);
        return new Promise((resolve, reject) => {
          wake = resolve;
          signal?.addEventListener('abort', () => reject(signal.reason as Error));
        });
      },
    };
    const listeners = new Set<unknown>();
    const logger: AgentLogger = {
      event: () => undefined,
      failed: () => undefined,
      subscribe: (listener) => {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
      keepSecret: () => undefined,
    };
    createEventStreams({ logger, clock, stopping: new AbortController().signal }).follow(response);
    wake();
    await new Promise(setImmediate);
    assert.deepEqual(written, [': the events of the agent as they happen\n\n', ':\n\n']);
    assert.deepEqual(slept, [15_000, 15_000]);
    assert.equal(listeners.size, 1);
    response.destroy();
    await once(response, 'close');
    await new Promise(setImmediate);
    assert.equal(listeners.size, 0);
  });
});
