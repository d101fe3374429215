import assert from 'node:assert/strict';
import { test } from 'node:test';
import { learnNext, mostLearned, stillLearned } from './update-keys-decide.ts';

const stored = { configured: ['a', 'b'], learned: ['c', 'd'] };

for (const [what, configured, expected] of [
  ['counts while the configuration is the same', ['a', 'b'], ['c', 'd']],
  ['counts in another order and with duplicates', ['b', 'a', 'b'], ['c', 'd']],
  ['is forgotten when a key is added', ['a', 'b', 'x'], []],
  ['is forgotten when a key is removed', ['a'], []],
  ['is forgotten when all keys are others', ['x'], []],
] as const)
  test(`a learned key ${what}`, () => assert.deepEqual(stillLearned(stored, configured), expected));

test('nothing stored is nothing learned', () => assert.deepEqual(stillLearned(null, ['a']), []));

for (const { what, learned, signer, next, expected } of [
  { what: 'the first key', learned: [], signer: 'a', next: 'c', expected: ['c'] },
  { what: 'a key named by a learned one', learned: ['c'], signer: 'c', next: 'd', expected: ['c', 'd'] },
  { what: 'the same key again', learned: ['c', 'd'], signer: 'c', next: 'd', expected: null },
  { what: 'a configured key', learned: [], signer: 'a', next: 'b', expected: null },
  { what: 'the signer itself', learned: ['c'], signer: 'c', next: 'c', expected: null },
  { what: 'an earlier key', learned: ['c', 'd', 'e'], signer: 'e', next: 'c', expected: ['d', 'e', 'c'] },
  { what: 'one too many', learned: ['c', 'd', 'e', 'f'], signer: 'f', next: 'g', expected: ['d', 'e', 'f', 'g'] },
  {
    what: 'one too many, by the oldest',
    learned: ['c', 'd', 'e', 'f'],
    signer: 'c',
    next: 'g',
    expected: ['e', 'f', 'c', 'g'],
  },
])
  test(`learns ${what}: ${expected === null ? 'nothing changes' : expected.join(' ')}`, () => {
    const result = learnNext({ configured: ['a', 'b'], learned }, { signer, next });
    assert.deepEqual(result, expected);
    assert.ok((result ?? []).length <= mostLearned);
  });
