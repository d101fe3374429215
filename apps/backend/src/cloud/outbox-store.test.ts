import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventIds } from '../core/event-ids.ts';
import { writeReports } from '../history/report-store.ts';
import { eventReport, openTestOutbox, statusReport } from '../../testing/test-outbox.ts';
import { enqueueReports } from './outbox-store.ts';

test('events and status changes are stored in the order they occurred, each with a stable id', async () => {
  await using all = await openTestOutbox();
  const { id, outbox } = all;
  await all.write(statusReport(id, 'online', 1), eventReport(id, 1));
  await all.write(statusReport(id, 'online', 2), eventReport(id, 2));
  await all.write(statusReport(id, 'offline', 3));
  const messages = await outbox.read(0, 100);
  const kept = messages.map(({ channel, params }) => {
    const { status: to, data } = params as { status?: string; data?: { n: number } };
    return `${channel} ${to ?? data?.n}`;
  });
  assert.deepEqual(kept, ['status online', 'events 1', 'events 2', 'status offline']);
  assert.deepEqual(await outbox.read(0, 100), messages, 'the same again');
  assert.equal(new Set(messages.map(({ params }) => params?.['id'])).size, 4);
});

test('acknowledged messages are deleted, and their numbers are not reused', async () => {
  await using all = await openTestOutbox();
  await all.write(eventReport(all.id, 1), eventReport(all.id, 2));
  const seqs = (await all.outbox.read(0, 10)).map(({ seq }) => seq);
  await all.outbox.remove(seqs);
  assert.deepEqual(await all.outbox.size(), { pending: 0, oldestAt: null, bytes: 0 });
  await all.write(eventReport(all.id, 3));
  const [next] = await all.outbox.read(0, 10);
  assert.ok(next !== undefined && next.seq > Math.max(...seqs));
  const { bytes, ...size } = await all.outbox.size();
  assert.deepEqual(size, { pending: 1, oldestAt: 1_003 });
  assert.ok(bytes > 50 && bytes < 200, `${bytes}`);
});

test('nothing is stored for a missing cloud or an unrequested channel', async () => {
  await using unclaimed = await openTestOutbox({ claimed: false });
  await unclaimed.write(statusReport(unclaimed.id, 'online', 1), eventReport(unclaimed.id, 1));
  assert.equal((await unclaimed.outbox.size()).pending, 0);
  await using quiet = await openTestOutbox({ channels: ['status'] });
  await quiet.write(statusReport(quiet.id, 'online', 1), eventReport(quiet.id, 1));
  await quiet.outbox.add({ channel: 'lifecycle', content: { id: 'a' }, at: 1 });
  assert.deepEqual(
    (await quiet.outbox.read(0, 10)).map(({ channel }) => channel),
    ['status'],
  );
});

test('a batch that cannot be written leaves nothing in the outbox', async () => {
  await using all = await openTestOutbox();
  const failing = async () => {
    throw new Error('no');
  };
  const enqueueThenFail: typeof enqueueReports = async (...given) => {
    await enqueueReports(...given);
    await failing();
  };
  const newId = createEventIds(Date.now);
  await assert.rejects(writeReports(all.store, [eventReport(all.id, 1)], newId, enqueueThenFail));
  assert.equal((await all.outbox.size()).pending, 0);
});

test('messages of a removed device are deleted with it', async () => {
  await using all = await openTestOutbox();
  await all.write(eventReport(all.id, 1));
  await all.devices.remove(all.id);
  assert.deepEqual(
    (await all.outbox.read(0, 10)).map(({ params }) => params),
    [null],
  );
});

test('over its limit the oldest are dropped, and counted', async () => {
  await using all = await openTestOutbox();
  for (let batch = 0; batch < 20; batch++) {
    await all.write(...Array.from({ length: 100 }, (_, n) => eventReport(all.id, batch * 100 + n)));
  }
  assert.equal(await all.outbox.trim(1_000_000), 0);
  const dropped = await all.outbox.trim(66_000);
  assert.ok(dropped > 900 && dropped < 1_200, `${dropped}`);
  const left = await all.outbox.read(0, 3_000);
  assert.equal(left.length, 2_000 - dropped);
  assert.deepEqual((left.at(-1)?.params?.['data'] as { n: number }).n, 1_999, 'the newest are kept');
  const row = await all.db.selectFrom('cloud_config').select('dropped').executeTakeFirst();
  assert.equal(row?.dropped, dropped);
});

for (const [what, smallFirst] of [
  ['small rows with large ones at the end', true],
  ['large rows with small ones at the end', false],
] as const) {
  test(`${what} are measured one by one: no more are dropped than necessary`, async () => {
    await using all = await openTestOutbox();
    const count = 12_000;
    const isLarge = (n: number): boolean => n >= count - 100 === smallFirst;
    const contents = Array.from({ length: count }, (_, n) =>
      JSON.stringify({ id: `ї${n}`, pad: isLarge(n) ? 'x'.repeat(400) : '' }),
    );
    const bytesOf = (content: string): number => 24 + 'system'.length + Buffer.byteLength(content);
    for (let from = 0; from < count; from += 2_000) {
      const values = contents.slice(from, from + 2_000).map((content) => ({ channel: 'system', content, at: 1 }));
      await all.db.insertInto('cloud_outbox').values(values).execute();
    }
    const bytes = contents.reduce((sum, content) => sum + bytesOf(content), 0);
    assert.deepEqual(await all.outbox.size(), { pending: count, oldestAt: 1, bytes });
    assert.equal(await all.outbox.trim(bytes), 0);
    const oldest = contents.slice(0, 5_500).reduce((sum, content) => sum + bytesOf(content), 0);
    assert.equal(await all.outbox.trim(bytes - oldest), 5_500);
    assert.deepEqual(await all.outbox.size(), { pending: count - 5_500, oldestAt: 1, bytes: bytes - oldest });
    const [next] = await all.outbox.read(0, 1);
    assert.equal(next?.params?.['id'], 'ї5500');
    assert.equal(await all.outbox.trim(bytes - oldest - 1), 1);
  });
}

test('messages removed behind a remaining front message are no longer counted', async () => {
  await using all = await openTestOutbox();
  const count = 16_000;
  for (let from = 0; from < count; from += 2_000) {
    const values = Array.from({ length: 2_000 }, (_, n) => ({
      channel: 'system',
      content: `{"id":"${from + n}"}`,
      at: 1,
    }));
    await all.db.insertInto('cloud_outbox').values(values).execute();
  }
  assert.equal((await all.outbox.size()).pending, count);
  const seqs = (await all.outbox.read(0, 12_000)).map(({ seq }) => seq);
  await all.outbox.remove(seqs.slice(1, 6_000));
  assert.equal((await all.outbox.size()).pending, 10_001);
  await all.outbox.remove(seqs.slice(1));
  assert.equal((await all.outbox.size()).pending, 4_001);
  await all.outbox.remove(seqs);
  assert.equal((await all.outbox.size()).pending, 4_000);
});

test('a late commit with a much smaller number counts as one message, and is not dropped', async () => {
  await using all = await openTestOutbox();
  const seqs = [1, ...Array.from({ length: 12_000 }, (_, index) => 1_000_000 + index)];
  for (let from = 0; from < seqs.length; from += 2_000) {
    const rows = seqs.slice(from, from + 2_000);
    const values = rows.map((seq) => ({ seq, channel: 'system', content: `{"id":"m${seq}"}`, at: seq }));
    await all.db.insertInto('cloud_outbox').values(values).execute();
  }
  const { pending, oldestAt, bytes } = await all.outbox.size();
  assert.deepEqual({ pending, oldestAt }, { pending: 12_001, oldestAt: 1 });
  assert.equal(await all.outbox.trim(bytes + 100), 0);
  assert.equal((await all.outbox.read(0, 1))[0]?.seq, 1);
  assert.deepEqual(
    (await all.outbox.read(0, 2, [1, 1_000_001])).map(({ seq }) => seq),
    [1_000_000, 1_000_002],
  );
});
