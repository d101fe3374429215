import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSoon } from './soon.ts';

test('work waits until its key is quiet, at most ten seconds, and ends with what it is of', ({ mock }) => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 0 });
  const done: string[] = [];
  const soon = createSoon({ now: Date.now });
  const call = (key: string): void => soon.call(key, () => done.push(`${key} ${Date.now()}`));
  call('one');
  mock.timers.tick(600);
  call('one');
  call('two');
  mock.timers.tick(600);
  assert.deepEqual(done, []);
  mock.timers.tick(400);
  assert.deepEqual(done, ['one 1600', 'two 1600']);
  done.length = 0;
  for (let at = 0; at < 30; at += 1) {
    call('busy');
    mock.timers.tick(500);
  }
  assert.deepEqual(done, ['busy 11600']);
  done.length = 0;
  call('last');
  soon[Symbol.dispose]();
  mock.timers.tick(60_000);
  assert.deepEqual(done, []);
});
