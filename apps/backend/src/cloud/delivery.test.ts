import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock, type Clock } from '@station/kit/clock';
import { eventChannels } from '@station/protocol/cloud';
import { createDeviceStore } from '../store/device-store.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createDelivery, type Delivering } from './delivery.ts';
import { fitsFrame } from './peer.ts';
import { createDeadLetterStore } from './dead-letter-store.ts';
import { createOutboxStore } from './outbox-store.ts';

type Sent = { method: string; seq: number | undefined; deviceId: unknown; state: unknown };

async function setUp(clock: Clock = systemClock) {
  await using starting = new AsyncDisposableStack();
  const store = starting.use(await openTestStore());
  const { db } = store;
  const logger = recordedLog();
  const channels = JSON.stringify(eventChannels);
  const config = { id: 'cloud', station_token: 'sealed', active_channels: channels, states_sent_at: 0, dropped: 0 };
  await db
    .insertInto('cloud_config')
    .values(config as never)
    .execute();
  const outbox = createOutboxStore(store);
  const deadLetters = createDeadLetterStore({ db: store.db, clock });
  const delivery = starting.use(
    createDelivery({
      db,
      outbox,
      deadLetters,
      isActive: () => true,
      statesSentAt: async () => 0,
      setStatesSentAt: async () => undefined,
      clock,
      logger,
    }),
  );
  const devices = createDeviceStore({ db, clock });
  const addDevice = async (externalId: string, state = '{"on":true}'): Promise<string> => {
    const { id } = await devices.provision({ externalId, type: 'pir', name: externalId, zoneId: null });
    await db.updateTable('devices').set({ state, state_at: clock.now() }).where('id', '=', id).execute();
    return id;
  };
  const addMessages = async (...seqs: number[]): Promise<void> => {
    const rows = seqs.map((seq) => ({ seq, channel: 'system', ref: null, content: `{"id":"m${seq}"}`, at: seq }));
    await db.insertInto('cloud_outbox').values(rows).execute();
    delivery.wake();
  };
  const setState = async (id: string, state: string): Promise<void> => {
    await db.updateTable('devices').set({ state }).where('id', '=', id).execute();
    delivery.stateChanged(id);
  };
  const connect = (given: Partial<Pick<Delivering, 'bufferedBytes' | 'giveUp'>> = {}): Sent[] => {
    const sent: Sent[] = [];
    const connection: Delivering = {
      acks: true,
      bufferedBytes: () => 0,
      giveUp: (reason) => assert.fail(reason),
      ...given,
      notify: (method, params) => {
        if (!fitsFrame(JSON.stringify({ method, params }))) return false;
        const { seq, deviceId, state } = params;
        sent.push({ method, seq: seq as number | undefined, deviceId, state });
        return true;
      },
    };
    delivery.begin(connection);
    return sent;
  };
  const all = starting.move();
  const end = () => all.disposeAsync();
  return {
    db,
    logger,
    outbox,
    deadLetters,
    delivery,
    addDevice,
    setState,
    addMessages,
    connect,
    [Symbol.asyncDispose]: end,
  };
}

const upTo = (count: number, from: number): number[] => Array.from({ length: count }, (_, index) => from + index);
const numbers = (sent: readonly Sent[]): number[] => sent.flatMap(({ seq }) => seq ?? []);

test('a state that could not be read is sent as soon as the database answers', async () => {
  await using all = await setUp();
  const id = await all.addDevice('lamp');
  const sent = all.connect();
  await until('it is sent at the beginning', () => sent.length === 1);
  const { schema } = all.db;
  await schema.alterTable('devices').renameTo('away').execute();
  all.delivery.stateChanged(id);
  await until('the database fails', () => all.logger.events('unexpected_error').length > 0);
  await schema.alterTable('away').renameTo('devices').execute();
  await until('it is sent again', () => sent.length === 2);
});

test('a message too large for a frame becomes a dead letter at once, and blocks no other', async () => {
  await using all = await setUp();
  await all.addMessages(1, 2, 3);
  const content = JSON.stringify({ id: 'm2', text: 'x'.repeat(1_048_576) });
  await all.db.updateTable('cloud_outbox').set({ content }).where('seq', '=', 2).execute();
  const sent = all.connect();
  await until('it is a dead letter', async () => (await all.deadLetters.size()).count === 1);
  await until('the others are sent', () => sent.length === 2);
  assert.deepEqual(numbers(sent), [1, 3]);
});

test('a cloud that ends the link at states: no message of the outbox becomes a dead letter', async () => {
  await using all = await setUp();
  await all.addDevice('lamp');
  await all.addMessages(...upTo(8, 1));
  const arrived = new Set<number>();
  for (let connection = 0; connection < 12; connection++) {
    const sent = all.connect();
    const isBroken = () => sent.some(({ method }) => method === 'device.stateChanged');
    await until('the state is sent', () => {
      // It accepts messages before the state, and none after it.
      for (const { seq } of isBroken() ? [] : [...sent]) {
        if (seq === undefined) continue;
        all.delivery.acknowledge(seq);
        arrived.add(seq);
      }
      return isBroken();
    });
    const hasMore = arrived.size < 8;
    await until('a message is sent, if one waits', () => !hasMore || sent.some(({ seq }) => seq !== undefined));
    all.delivery.end(1011);
  }
  assert.equal((await all.deadLetters.size()).count, 0);
  assert.ok(arrived.size > 0);
});

test('a dead letter is the message that failed twice alone, at a close that points to the content', async () => {
  await using all = await setUp();
  await all.addMessages(1, 2, 3);
  const lose = async (code: number | null): Promise<number[]> => {
    const sent = all.connect();
    await until('a message is sent', () => numbers(sent).length > 0);
    // The others would follow at once.
    await new Promise((resolve) => setTimeout(resolve, 20));
    all.delivery.end(code);
    return numbers(sent);
  };
  const together = [1, 2, 3];
  assert.deepEqual(await lose(1001), together, 'no message is the cause');
  assert.deepEqual(await lose(null), together);
  assert.deepEqual(await lose(1011), together);
  assert.deepEqual(await lose(1011), [1]);
  assert.deepEqual(await lose(null), [1], 'does not count');
  assert.equal((await all.deadLetters.size()).count, 0);
  assert.deepEqual(await lose(1003), [1]);
  assert.deepEqual(await lose(1011), [2, 3]);
  assert.equal((await all.deadLetters.size()).count, 1);
});

test('a message that arrives alone is no longer suspected, and one whose device was removed neither', async () => {
  await using all = await setUp();
  await all.addMessages(1, 2, 3);
  const sent = all.connect();
  await until('they are sent', () => sent.length === 3);
  all.delivery.end(1011);
  const alone = all.connect();
  await until('it is sent', () => alone.length > 0);
  all.delivery.acknowledge(1);
  await until('the others follow together', () => alone.length === 3);
  all.delivery.end(1011);
  await all.outbox.remove([2, 3]);
  const id = await all.addDevice('lamp');
  const states = all.connect();
  await until('states are sent again', () => states.some(({ deviceId }) => deviceId === id));
});

for (const poisonous of [[2], [2, 3], [4]]) {
  test(`only messages at which the cloud always ends the link become dead letters: ${poisonous.join()} of 4`, async () => {
    await using all = await setUp();
    await all.addMessages(1, 2, 3, 4);
    const arrived: number[] = [];
    let sent = all.connect();
    await until('it is a dead letter', async () => {
      for (const seq of numbers(sent)) {
        if (poisonous.includes(seq)) {
          all.delivery.end(1011);
          sent = all.connect();
          break;
        }
        if (arrived.includes(seq)) continue;
        all.delivery.acknowledge(seq);
        arrived.push(seq);
      }
      return (await all.deadLetters.size()).count === poisonous.length && arrived.length === 4 - poisonous.length;
    });
    assert.deepEqual(
      arrived,
      [1, 2, 3, 4].filter((seq) => !poisonous.includes(seq)),
    );
  });
}

test('a late commit with a smaller number is sent while others are always in flight, and nothing twice', async () => {
  await using all = await setUp();
  await all.addMessages(...upTo(5, 100));
  const sent = all.connect();
  await until('the first are sent', () => sent.length === 5);
  await all.addMessages(7);
  let next = 105;
  await until('the late one is sent', async () => {
    await all.addMessages(next++);
    // All but the latest have arrived: some message is always in flight.
    for (const seq of numbers(sent).slice(0, -1)) all.delivery.acknowledge(seq);
    return numbers(sent).includes(7);
  });
  await until('the others are sent', () => numbers(sent).includes(next - 1));
  assert.equal(new Set(numbers(sent)).size, sent.length);
});

/** A connection with a backlog set by the test, which counts how often it is queried. */
function pressedConnection() {
  const pressure = { bytes: 0, asked: 0 };
  const bufferedBytes = (): number => {
    pressure.asked += 1;
    return pressure.bytes;
  };
  /** Waits longer than one whole round of sending. */
  const rounds = async (delivery: { wake(): void }): Promise<void> => {
    const enough = pressure.asked + 6;
    await until('it looks for room', () => {
      delivery.wake();
      return pressure.asked >= enough;
    });
  };
  return { pressure, bufferedBytes, rounds };
}

test('with a backlog of 256 KiB the outbox waits and states are still sent; then the outbox follows in order', async () => {
  await using all = await setUp();
  const lamp = await all.addDevice('lamp');
  const { pressure, bufferedBytes, rounds } = pressedConnection();
  const sent = all.connect({ bufferedBytes });
  await until('the state is sent at the beginning', () => sent.length === 1);
  pressure.bytes = 256 * 1024;
  await all.addMessages(1, 2, 3);
  await all.setState(lamp, '{"on":false}');
  await until('the state is sent', () => sent.length === 2);
  await rounds(all.delivery);
  assert.deepEqual(numbers(sent), []);
  pressure.bytes -= 1;
  all.delivery.wake();
  await until('the messages are sent', () => sent.length === 5);
  assert.deepEqual(numbers(sent), [1, 2, 3]);
});

test('with a backlog of 1 MiB no state is sent; later the latest of each device is', async () => {
  await using all = await setUp();
  const lamp = await all.addDevice('lamp');
  const fan = await all.addDevice('fan');
  const { pressure, bufferedBytes, rounds } = pressedConnection();
  const sent = all.connect({ bufferedBytes });
  await until('the states are sent at the beginning', () => sent.length === 2);
  pressure.bytes = 1024 * 1024;
  for (const n of upTo(5, 1)) {
    await all.setState(lamp, `{"n":${n}}`);
    await all.setState(fan, `{"n":${10 * n}}`);
    await rounds(all.delivery);
  }
  assert.equal(sent.length, 2);
  pressure.bytes -= 1;
  all.delivery.wake();
  await until('the states are sent', () => sent.length === 4);
  await rounds(all.delivery);
  const states = new Map(sent.slice(2).map(({ deviceId, state }) => [deviceId, state]));
  assert.deepEqual([sent.length, states.get(lamp), states.get(fan)], [4, { n: 5 }, { n: 50 }]);
});

test('a cloud without acknowledgements is disconnected after a minute; each one restarts it, and it needs waiting messages', async () => {
  const clock = manualClock();
  await using all = await setUp(clock);
  const givenUp: string[] = [];
  const { bufferedBytes, rounds } = pressedConnection();
  const sent = all.connect({ bufferedBytes, giveUp: (reason) => void givenUp.push(reason) });
  await rounds(all.delivery);
  clock.advance(3_600_000);
  await rounds(all.delivery);
  await all.addMessages(1, 2);
  await until('they are sent', () => sent.length === 2);
  clock.advance(60_000);
  await rounds(all.delivery);
  all.delivery.acknowledge(1);
  clock.advance(60_000);
  await rounds(all.delivery);
  assert.deepEqual(givenUp, []);
  clock.advance(1);
  all.delivery.wake();
  await until('it is given up', () => givenUp.length > 0);
  assert.match(givenUp[0] ?? '', /acknowledge/);
});
