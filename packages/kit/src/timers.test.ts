import assert from 'node:assert/strict';
import { test } from 'node:test';
import { after, every, nextTurn, pause } from './timers.ts';

test('work is done once or again and again, until it is disposed', async () => {
  const done: string[] = [];
  const disposed = after(1, () => void done.push('never'));
  disposed[Symbol.dispose]();
  after(1, () => void done.push('once'));
  {
    using _ = every(2, () => void done.push('again'));
    await pause(50);
  }
  const { length } = done;
  assert.equal(done.filter((word) => word === 'once').length, 1);
  assert.ok(length > 2 && !done.includes('never'), done.join());
  await pause(20);
  assert.equal(done.length, length);
});

test('the next turn comes after what was begun in this one', async () => {
  let isOver = false;
  setImmediate(() => (isOver = true));
  await nextTurn();
  assert.ok(isOver);
});
