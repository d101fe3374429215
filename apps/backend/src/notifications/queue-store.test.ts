import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../testing/manual-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import type { Alert } from './alert.ts';
import { mostWaiting } from './delivery-decide.ts';
import { createNotificationQueue, type Receiver } from './queue-store.ts';

const webhook: Receiver = { channel: 'webhook', userId: null, subscriptionId: null, quietMs: 0 };
const nothing = { remember: new Map<string, string>(), forget: [] };
const battery = (name: string): Alert => ({ kind: 'battery_low', devices: [{ id: name, name }] });

test('the queue is bounded: the oldest messages go first', async () => {
  await using store = await openTestStore();
  const queue = createNotificationQueue({ db: store.db, clock: manualClock() });
  const receivers = Array.from({ length: mostWaiting }, () => webhook);
  await queue.add([{ alert: battery('old'), receivers: [webhook, webhook] }], nothing);
  await queue.add([{ alert: battery('new'), receivers }], nothing);
  assert.deepEqual(await queue.trim(true), new Map([['webhook', 2]]));
  const [first] = await queue.due(1);
  assert.deepEqual(first?.alert, battery('new'));
  assert.deepEqual(await queue.trim(true), new Map());
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
  const due = await queue.due(10);
  assert.equal(due.length, 1);
  const { alert } = due[0]!;
  assert.ok(alert.kind === 'automations');
  assert.deepEqual([alert.messages.at(-1)?.text, alert.more], ['Message 299', 295]);
});
