import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../testing/manual-clock.ts';
import { createMember } from '../../testing/test-member.ts';
import { openTestStore } from '../../testing/test-store.ts';
import type { Alert } from './alert.ts';
import { mostWaiting } from './delivery-decide.ts';
import { createNotificationQueue, type NotificationQueue, type Receiver } from './queue-store.ts';

const webhook: Receiver = { channel: 'webhook', userId: null, subscriptionId: null, quietMs: 0 };
const nothing = { remember: new Map<string, string>(), forget: [] };
const battery = (name: string): Alert => ({ kind: 'battery_low', devices: [{ id: name, name }] });

const firstOf = async (queue: NotificationQueue): Promise<Alert | undefined> => {
  const { id } = (await queue.due(1))[0]!;
  return (await queue.read(id))?.alert;
};

test('the queue is bounded: the oldest messages go first', async () => {
  await using store = await openTestStore();
  const queue = createNotificationQueue({ db: store.db, clock: manualClock() });
  const receivers = Array.from({ length: mostWaiting }, () => webhook);
  await queue.add([{ alert: battery('old'), receivers: [webhook, webhook] }], nothing);
  await queue.add([{ alert: battery('new'), receivers }], nothing);
  assert.deepEqual(await queue.trim(true), new Map([['webhook', 2]]));
  assert.deepEqual(await firstOf(queue), battery('new'));
  assert.deepEqual(await queue.trim(true), new Map());
});

test('who has many messages in the queue takes neither place nor turn from others', async () => {
  await using store = await openTestStore();
  const clock = manualClock();
  const queue = createNotificationQueue({ db: store.db, clock });
  const olena = await createMember(store.db, 'olena@example.org');
  const taras = await createMember(store.db, 'taras@example.org');
  const mailTo = (userId: string): Receiver => ({ ...webhook, channel: 'email', userId });
  const add = (name: string, receivers: readonly Receiver[]): Promise<void> =>
    queue.add([{ alert: battery(name), receivers }], nothing);
  await add('first', [mailTo(taras), webhook]);
  await add(
    'flood',
    Array.from({ length: mostWaiting }, () => mailTo(olena)),
  );
  await add('last', [mailTo(taras)]);
  assert.deepEqual(await queue.trim(true), new Map([['email', 3]]), 'of the flood alone');
  clock.advance(1);
  const due = await Promise.all((await queue.due(2)).map(({ id }) => queue.read(id)));
  assert.deepEqual(
    due.map((message) => message?.userId),
    [taras, null, olena, olena, taras],
  );
});

test('while the clock may be wrong nothing expires', async () => {
  await using store = await openTestStore();
  const clock = manualClock();
  const queue = createNotificationQueue({ db: store.db, clock });
  await queue.add([{ alert: battery('lamp'), receivers: [webhook] }], nothing);
  clock.advance(48 * 60 * 60_000);
  assert.deepEqual(await queue.trim(false), new Map());
  assert.deepEqual(await queue.trim(true), new Map([['webhook', 1]]));
});

test('what was told and its messages are written together, or not at all', async () => {
  await using store = await openTestStore();
  const queue = createNotificationQueue({ db: store.db, clock: manualClock() });
  const removed: Receiver = { ...webhook, channel: 'email', userId: 'somebody who was removed' };
  const told = { remember: new Map([['battery:lamp', 'low']]), forget: [] };
  await assert.rejects(queue.add([{ alert: battery('lamp'), receivers: [webhook, removed] }], told));
  assert.deepEqual(await queue.due(10), []);
  assert.deepEqual(await store.db.selectFrom('alert_states').selectAll().execute(), []);
});

test('a flood of messages of automations is one notification with the newest, and none comes twice', async () => {
  await using store = await openTestStore();
  const queue = createNotificationQueue({ db: store.db, clock: manualClock() });
  const rows = Array.from({ length: 300 }, (_, index) => ({
    id: String(index).padStart(5, '0'),
    automation_id: 'a',
    automation_name: 'Loop',
    run_id: 'r',
    message: `Message ${index}`,
    at: index,
    is_forwarded: 0,
  }));
  await store.db.insertInto('notifications').values(rows).execute();
  assert.equal(await queue.forward(() => [webhook]), true);
  assert.equal(await queue.forward(() => [webhook]), false);
  assert.equal((await queue.due(10)).length, 1);
  const alert = await firstOf(queue);
  assert.ok(alert?.kind === 'automations');
  assert.deepEqual([alert.messages.at(-1)?.text, alert.more], ['Message 299', 295]);
});
