import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fastify from 'fastify';
import { createReadQueue, queueHeavyReads, type Reader } from './read-queue.ts';

const reader = (person: string, session = 'a'): Reader => ({ person, session });
const all = (count: number) => ({ person: count, all: count });
const one = reader('one');

const codeOf = (entering: Promise<unknown>): Promise<string> =>
  entering.then(
    () => 'entered',
    (error: unknown) => (error as { code: string }).code,
  );

test('few pass at a time, those of one session in order of arrival; too many are told to come again', async () => {
  const queue = createReadQueue({ atOnce: all(2), maxWaiting: all(2), waitMs: 60_000 });
  const ends = [await queue.enter(one), await queue.enter(one)];
  const order: string[] = [];
  const third = queue.enter(one).then((end) => (order.push('third'), end));
  const fourth = queue.enter(one).then((end) => (order.push('fourth'), end));
  assert.equal(await codeOf(queue.enter(one)), 'busy');
  await turn();
  assert.deepEqual(order, []);
  ends[0]?.();
  // Ending twice frees one place.
  ends[0]?.();
  const end = await third;
  await turn();
  assert.deepEqual(order, ['third']);
  end();
  (await fourth)();
  ends[1]?.();
  assert.equal(await codeOf(queue.enter(one)), 'entered');
});

test('a turn that does not come in time ends the wait, and takes no place', async () => {
  const queue = createReadQueue({ atOnce: all(1), maxWaiting: all(5), waitMs: 1 });
  const end = await queue.enter(one);
  assert.equal(await codeOf(queue.enter(one)), 'busy');
  end();
  assert.equal(await codeOf(queue.enter(one)), 'entered');
});

test('who takes more than the share of the time waits until it is paid for', async () => {
  let now = 0;
  const queue = createReadQueue({ atOnce: all(1), share: 0.5, burstMs: 10 }, () => now);
  const read = async (): Promise<void> => {
    const end = await queue.enter(one);
    now += 10;
    end();
  };
  // The first is within the burst.
  await read();
  await read();
  let isEntered = false;
  const next = queue.enter(one).then((end) => {
    isEntered = true;
    end();
  });
  await turn();
  assert.equal(isEntered, false);
  now += 10;
  await next;
});

describe('reads of several people', () => {
  /** Who passes, in order, while one of `member` runs. */
  const orderOf = async (waiting: readonly Reader[], limits = {}): Promise<string[]> => {
    const queue = createReadQueue({ atOnce: all(1), share: 1, burstMs: 60_000, ...limits });
    const first = await queue.enter(reader('member'));
    const order: string[] = [];
    const passing = waiting.map((each) =>
      queue.enter(each).then(
        (end) => {
          order.push(`${each.person} ${each.session}`);
          end();
        },
        () => order.push(`${each.person} ${each.session} is refused`),
      ),
    );
    await turn();
    first();
    await Promise.all(passing);
    return order;
  };

  it('take turns, so that those of one person delay the others by one turn', async () => {
    const order = await orderOf([reader('member'), reader('member'), reader('member'), reader('owner')]);
    assert.deepEqual(order, ['owner a', 'member a', 'member a', 'member a']);
  });

  it('take turns by session within one person', async () => {
    const order = await orderOf([reader('member'), reader('member'), reader('member', 'b')]);
    assert.deepEqual(order, ['member b', 'member a', 'member a']);
  });

  it('have places of their own: sixty of one member refuse nobody else', async () => {
    const members = Array.from({ length: 60 }, () => reader('member'));
    const order = await orderOf([...members, reader('owner'), reader('guest')], {
      maxWaiting: { person: 20, all: 20 },
    });
    assert.equal(order.filter((name) => name === 'owner a' || name === 'guest a').length, 2);
    assert.equal(order.filter((name) => name === 'member a').length, 18);
  });

  it('run for one person so many at a time, and others pass them', async () => {
    const queue = createReadQueue({ atOnce: { person: 1, all: 2 }, share: 1, burstMs: 60_000 });
    const end = await queue.enter(reader('member'));
    const second = queue.enter(reader('member'));
    const owner = await queue.enter(reader('owner'));
    end();
    (await second)();
    owner();
  });
});

test('who goes away while their permission is looked up takes no place of theirs', async () => {
  const app = fastify();
  queueHeavyReads(app, createReadQueue({ share: 1 }));
  app.decorateRequest('user', null);
  app.addHook('onRequest', async (request) => {
    request.user = { userId: 'one', role: 'member', sessionId: 'a', expiresAt: 0 } as unknown as typeof request.user;
    if (request.headers['x-leaving'] !== undefined) await once(request.raw.socket, 'close');
  });
  app.get('/', { config: { access: 'user', heavy: 'answer' } }, async () => 'answered');
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  const ask = (line: string) => {
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`GET / HTTP/1.1\r\nhost: localhost\r\n${line}\r\n\r\n`);
    return socket;
  };
  for (let count = 0; count < 40; count += 1) {
    const arrived = once(app.server, 'request');
    const socket = ask('x-leaving: yes');
    await arrived;
    socket.destroy();
  }
  while ((await connectionsOf(app.server)) > 0) await turn();
  const answer = await text(ask('connection: close'));
  await app.close();
  assert.match(answer, /answered$/);
});

const connectionsOf = (server: { getConnections(done: (error: Error | null, count: number) => void): unknown }) =>
  new Promise<number>((resolve) => server.getConnections((_error, count) => resolve(count)));
