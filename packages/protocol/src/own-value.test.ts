import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isInherited, ownValue, setOwnValue } from './own-value.ts';

const inherited = ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty', '__lookupGetter__'];

test('a record has what it was given, and nothing that every object has', () => {
  const record: Record<string, number> = { a: 1 };
  for (const key of inherited) assert.deepEqual([ownValue(record, key), isInherited(key)], [undefined, true]);
  assert.deepEqual([ownValue(record, 'a'), ownValue(record, 'b'), isInherited('a')], [1, undefined, false]);
  assert.deepEqual([ownValue(null, 'a'), ownValue(undefined, 'a')], [undefined, undefined]);
});

test('a value under any key is kept, and changes no other', () => {
  const record: Record<string, unknown> = {};
  for (const key of inherited) setOwnValue(record, key, { polluted: true });
  assert.deepEqual(Object.keys(record).sort(), [...inherited].sort());
  assert.equal(ownValue(record, 'polluted'), undefined);
  assert.equal(Object.getPrototypeOf(record), Object.prototype);
});
