import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWaitingRoom } from './waiting-room.ts';

test('the one that waits longest goes: of the same network first, else of all', () => {
  const room = createWaitingRoom<string>({ network: 2, all: 3 });
  assert.equal(room.enter('a1', 'a'), null);
  assert.equal(room.enter('b1', 'b'), null);
  assert.equal(room.enter('b2', 'b'), null);
  assert.equal(room.enter('b3', 'b'), 'b1', 'the network has its share');
  assert.equal(room.enter('c1', 'c'), 'a1', 'all is full');
  room.leave('b2');
  assert.equal(room.enter('b4', 'b'), null, 'there is room again');
});
