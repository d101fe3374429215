import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { eventReport, openTestOutbox, statusReport } from '../../testing/test-outbox.ts';
import { createDeadLetterStore } from './dead-letter-store.ts';

async function open() {
  const all = await openTestOutbox();
  return { ...all, deadLetters: createDeadLetterStore({ db: all.db, clock: systemClock }) };
}

test('dead letters leave the outbox, and can be sent again with their ids', async () => {
  await using all = await open();
  await all.write(statusReport(all.id, 'online', 1), eventReport(all.id, 1), eventReport(all.id, 2));
  const before = await all.outbox.read(0, 10);
  for (const { seq } of before.slice(0, 2)) await all.deadLetters.add(seq, 'closed with 1008');
  await all.deadLetters.add(before[1]?.seq ?? 0, 'once more');
  assert.equal((await all.deadLetters.size()).count, 2);
  assert.equal((await all.outbox.size()).pending, 1);
  const listed = await all.deadLetters.list(10);
  assert.deepEqual(
    listed.map(({ channel, reason }) => `${channel}: ${reason}`),
    ['events: closed with 1008', 'status: closed with 1008'],
  );
  assert.equal(await all.deadLetters.resend(), 2);
  assert.deepEqual(await all.deadLetters.size(), { count: 0, oldestAt: null });
  const after = await all.outbox.read(0, 10);
  assert.deepEqual(
    after.map(({ channel, params }) => ({ channel, params })),
    [before[2], before[0], before[1]].map((message) => ({ channel: message?.channel, params: message?.params })),
  );
  assert.ok(after.every(({ seq }, n) => n === 0 || seq > (before[2]?.seq ?? 0)));
  assert.equal(await all.deadLetters.resend(), 0);
});

test('dead letters above the limit count as dropped', async () => {
  await using all = await open();
  const values = Array.from({ length: 1_000 }, (_, n) => ({
    seq: n + 1,
    channel: 'system',
    content: '{"id":"a"}',
    reason: 'r',
    at: 1,
  }));
  await all.db.insertInto('cloud_dead_letters').values(values).execute();
  await all.db
    .insertInto('cloud_outbox')
    .values({ seq: 2_000, channel: 'system', content: '{"id":"b"}', at: 1 })
    .execute();
  await all.deadLetters.add(2_000, 'closed with 1008');
  assert.equal((await all.deadLetters.size()).count, 1_000);
  const row = await all.db.selectFrom('cloud_config').select('dropped').executeTakeFirst();
  assert.equal(row?.dropped, 1);
});
