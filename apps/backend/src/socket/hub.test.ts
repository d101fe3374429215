import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ServerMessage } from '@station/protocol/socket';
import { type Sight, wholeStation } from '../core/sight.ts';
import { createGathering, createSocketHub } from './hub.ts';
import type { Batch } from './outbox.ts';

/** Pauses last until the test ends them. */
function withHub(zones: ReadonlyMap<string, string> = new Map()) {
  let wake = (): void => undefined;
  const clock = { monotonic: () => 0, sleep: () => new Promise<void>((resolve) => (wake = resolve)) };
  const endPause = async (): Promise<void> => {
    wake();
    await nextTurn();
  };
  return { hub: createSocketHub(clock, (deviceId) => zones.get(deviceId) ?? null), endPause };
}

function testClient(userId = 'olena', sessionId = `session of ${userId}`, sight: Sight = wholeStation) {
  const batches: Batch[] = [];
  const closed: number[] = [];
  const received = (): unknown[] =>
    batches.flatMap(({ messages }) => messages.map(({ text }) => (JSON.parse(text) as { deviceId: string }).deviceId));
  const client = {
    userId,
    sessionId,
    sight,
    send: (batch: Batch) => void batches.push(batch),
    close: (code: number) => void closed.push(code),
  };
  return { client, batches, closed, received };
}

const changed = (deviceId: string): ServerMessage => ({
  type: 'device_changed',
  at: '2026-03-01T12:00:00.000Z',
  deviceId,
});

test('messages of one turn are sent to all clients in order, as the same bytes', async () => {
  const { hub } = withHub();
  const one = testClient();
  const other = testClient();
  for (const { client } of [one, other]) hub.add(client);
  for (const id of ['a', 'b', 'a']) hub.broadcast(changed(id), id);
  await nextTurn();
  assert.deepEqual(one.received(), ['a', 'b', 'a'], 'a client that keeps up gets every message');
  assert.equal(one.batches.length, 1);
  assert.equal(one.batches[0], other.batches[0]);
});

test('many large messages are sent in several batches', async () => {
  const { hub } = withHub();
  const { client, batches, received } = testClient();
  hub.add(client);
  const ids = ['a', 'b', 'c'].map((letter) => letter.repeat(60_000));
  for (const id of ids) hub.broadcast(changed(id));
  await nextTurn();
  assert.equal(batches.length, 3);
  assert.deepEqual(received(), ids);
});

test('a client that joins while messages wait gets the replayed messages, then only later broadcasts', async () => {
  const { hub, endPause } = withHub();
  const early = testClient();
  const late = testClient();
  using _replaying = hub.replay(() => [changed('replayed')]);
  hub.add(early.client);
  hub.broadcast(changed('first'));
  await nextTurn();
  hub.broadcast(changed('waits'));
  hub.add(late.client);
  hub.broadcast(changed('later'));
  await endPause();
  assert.deepEqual(early.received(), ['replayed', 'first', 'waits', 'later']);
  assert.deepEqual(late.received(), ['replayed', 'later']);
});

test('earlier broadcasts reach a client before it is closed', () => {
  const { hub } = withHub();
  const olena = testClient('olena');
  const ivan = testClient('ivan');
  for (const { client } of [olena, ivan]) hub.add(client);
  hub.broadcast(changed('a'));
  hub.closeClientsOf('ivan', 4401, 'Log in again');
  assert.deepEqual([ivan.received(), ivan.closed, olena.closed], [['a'], [4401], []]);
  hub.broadcast(changed('b'));
  hub.closeAll(1013, 'Messages were missed');
  assert.deepEqual([olena.received(), olena.closed], [['a', 'b'], [1013]]);
});

test('the clients of a session that ended are closed, and no others of its user', () => {
  const { hub } = withHub();
  const phone = testClient('olena', 'phone');
  const laptop = testClient('olena', 'laptop');
  for (const { client } of [phone, laptop]) hub.add(client);
  hub.closeClientsOf('phone', 4401, 'Log in again');
  assert.deepEqual([phone.closed, laptop.closed], [[4401], []]);
});

test('messages that wait when the last client leaves do not reach the next one', async () => {
  const { hub } = withHub();
  const first = testClient();
  const next = testClient();
  hub.add(first.client);
  hub.broadcast(changed('a'));
  hub.remove(first.client);
  hub.add(next.client);
  await nextTurn();
  assert.deepEqual([first.received(), next.received()], [[], []]);
});

/** A gathering whose deliveries take `tookMs` by a clock that otherwise does not move. */
function withGathering(tookMs: number) {
  let now = 0;
  let wake = (): void => undefined;
  const delivered: number[][] = [];
  const pauses: number[] = [];
  const clock = {
    monotonic: () => now,
    sleep: (ms: number) => {
      pauses.push(ms);
      return new Promise<void>((resolve) => (wake = resolve));
    },
  };
  const gathering = createGathering<number>(clock, (items) => {
    delivered.push([...items]);
    now += tookMs;
  });
  const endPause = async (): Promise<void> => {
    wake();
    await nextTurn();
  };
  return { gathering, delivered, pauses, endPause };
}

test('the first item after a pause is delivered at once, with all others of its turn', async () => {
  const { gathering, delivered } = withGathering(1);
  for (const item of [1, 2, 3]) gathering.add(item);
  assert.deepEqual(delivered, [], 'not within the call');
  await nextTurn();
  assert.deepEqual(delivered, [[1, 2, 3]]);
});

test('items added during a pause are delivered together at its end, in order; after an idle pause at once again', async () => {
  const { gathering, delivered, pauses, endPause } = withGathering(1);
  gathering.add(1);
  await nextTurn();
  for (const item of [2, 3]) {
    gathering.add(item);
    await nextTurn();
  }
  assert.deepEqual(delivered, [[1]]);
  await endPause();
  assert.deepEqual(delivered, [[1], [2, 3]]);
  await endPause();
  assert.equal(pauses.length, 2, 'nothing to do: no further pause');
  gathering.add(4);
  await nextTurn();
  assert.deepEqual(delivered, [[1], [2, 3], [4]]);
});

for (const [tookMs, pauseMs] of [
  [0.1, 0.4],
  [3, 12],
  [100, 20],
] as const)
  test(`a delivery of ${tookMs} ms is followed by a pause of ${pauseMs} ms`, async () => {
    const { gathering, pauses } = withGathering(tookMs);
    gathering.add(1);
    await nextTurn();
    assert.deepEqual(pauses, [pauseMs]);
  });

test('flush delivers waiting items now and not again; clear drops them', async () => {
  const { gathering, delivered, endPause } = withGathering(1);
  gathering.add(1);
  gathering.flush();
  assert.deepEqual(delivered, [[1]]);
  await nextTurn();
  gathering.add(2);
  gathering.clear();
  await nextTurn();
  await endPause();
  assert.deepEqual(delivered, [[1]]);
});

const kitchenOnly: Sight = { zones: new Set(['kitchen']) };

test('somebody who sees one zone is told of its devices only, and of nothing else of the station', async () => {
  const zones = new Map([
    ['kettle', 'kitchen'],
    ['lamp', 'bedroom'],
  ]);
  const { hub } = withHub(zones);
  const guest = testClient('guest', 'phone', kitchenOnly);
  const owner = testClient('owner');
  hub.replay(() => [{ type: 'agent_link', at: '2026-03-01T12:00:00.000Z', connected: true }]);
  for (const { client } of [guest, owner]) hub.add(client);
  assert.deepEqual([guest.batches.length, owner.batches.length], [0, 1], 'what is replayed concerns the station');
  for (const id of ['kettle', 'lamp', 'shed', 'kettle']) hub.broadcast(changed(id));
  hub.broadcast({ type: 'conditions_changed', at: '2026-03-01T12:00:00.000Z' });
  await nextTurn();
  assert.deepEqual(guest.received(), ['kettle', 'kettle']);
  assert.equal(owner.received().length, 1 + 5);
  hub.remove(owner.client);
  hub.broadcast(changed('kettle'));
  assert.equal(hub.size(), 1, 'who sees a part counts as a client');
});

test('a device that moves is told to those who see it now, and removed for those who do not any more', () => {
  const { hub } = withHub();
  const typesOf = ({ batches }: { batches: Batch[] }): unknown[] =>
    batches.flatMap(({ messages }) => messages.map(({ text }) => (JSON.parse(text) as { type: string }).type));
  const guest = testClient('guest', 'phone', kitchenOnly);
  const owner = testClient('owner');
  for (const { client } of [guest, owner]) hub.add(client);
  const deviceId = 'lamp';
  const at = '2026-03-01T12:00:00.000Z';
  hub.moved({ deviceId, from: 'bedroom', to: 'hall', at });
  assert.deepEqual(typesOf(guest), []);
  hub.moved({ deviceId, from: 'hall', to: 'kitchen', at });
  hub.moved({ deviceId, from: 'kitchen', to: null, at });
  assert.deepEqual(typesOf(guest), ['device_changed', 'device_removed']);
  assert.deepEqual(typesOf(owner), [], 'the others know from the change itself');
});
