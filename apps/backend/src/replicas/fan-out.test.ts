import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '@station/kit/clock';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createFanOut, createJoiner, type Delivered, maxPartLength, toParts } from './fan-out.ts';

test('a text of any length and alphabet is sent in parts that PostgreSQL accepts', () => {
  for (const text of ['{}', 'ї'.repeat(5_000), JSON.stringify({ a: 'x'.repeat(50_000), b: '\u0000 😀 "\\' })]) {
    const parts = toParts('one.1', JSON.stringify(text));
    assert.ok(parts.every((part) => Buffer.byteLength(part) < 8_000 && /^[\x20-\x7e]+$/.test(part)));
    const joiner = createJoiner();
    const joined = parts.map((part) => joiner.add(part));
    assert.ok(joined.slice(0, -1).every((result) => result === null));
    const last = joined.at(-1);
    assert.equal(last?.name, 'one.1');
    assert.equal(JSON.parse(last?.text ?? ''), text);
  }
});

test('a text whose start was lost in a gap is dropped, and the next text is complete', () => {
  const parts = toParts('one.1', 'y'.repeat(2.5 * maxPartLength));
  assert.equal(parts.length, 3);
  const joiner = createJoiner();
  assert.equal(joiner.add(parts[1] ?? ''), null);
  assert.equal(joiner.add(parts[2] ?? ''), null);
  joiner.add(parts[0] ?? '');
  joiner.clear();
  assert.equal(joiner.add(parts[1] ?? ''), null);
  assert.equal(joiner.add(parts[2] ?? ''), null);
  assert.equal(joiner.add(toParts('two.1', '{}')[0] ?? '')?.text, '{}');
});

test('what could not be announced is not kept', async () => {
  await using store = await openTestStore();
  const delivered: Delivered[] = [];
  const clock = { ...systemClock, now: () => 1 };
  await using fanOut = createFanOut({
    db: store.db,
    replicaId: 'one',
    deliver: (one) => void delivered.push(one),
    onTooMany: () => undefined,
    clock,
    logger: recordedLog(),
  });
  fanOut.release();
  const message = { kind: 'cloud' } as const;
  const failing = store.db.transaction().execute(async (transaction) => {
    // From here on PostgreSQL refuses everything in it; SQLite has no notifications.
    await sql`select no_such_function()`.execute(transaction).catch(() => undefined);
    await fanOut.announce(transaction, message, new Map());
  });
  await assert.rejects(failing);
  const name = `one.${process.pid.toString(36)}.1.0`;
  for (const part of toParts(name, JSON.stringify(message))) fanOut.receive(part);
  // What is kept would be delivered as it was announced.
  assert.deepEqual(delivered, [{ message }]);
});
