import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moved } from './move-decide.ts';

const list = ['a', 'b', 'c'];

for (const [from, to, expected] of [
  [0, 1, 'bac'],
  [0, 2, 'bca'],
  [2, 0, 'cab'],
  [1, 9, 'acb'],
  [1, -1, 'bac'],
  [1, 1, 'abc'],
  [7, 0, 'abc'],
] as const) {
  test(`from ${from} to ${to}: ${expected}`, () => assert.equal(moved(list, from, to).join(''), expected));
}

test('the list stays the same object when nothing moves', () => assert.equal(moved(list, 0, -3), list));
