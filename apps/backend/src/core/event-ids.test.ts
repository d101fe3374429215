import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEventIds } from './event-ids.ts';

test('ids sort in the order they were made, even with a full counter or a clock that is set back', () => {
  let now = 1_700_000_000_000;
  const newId = createEventIds(() => now);
  const ids = Array.from({ length: 10_000 }, newId);
  now -= 60_000;
  ids.push(newId());
  now += 120_000;
  ids.push(newId());
  assert.deepEqual(ids, ids.toSorted());
  assert.equal(new Set(ids).size, ids.length);
});

test('ids are UUIDs of version 7 that contain the time', () => {
  const id = createEventIds(() => 0x0123456789ab)();
  assert.match(id, /^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});
