import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createReconnects } from './reconnects.ts';

function watch() {
  let nowMs = 0;
  const told: unknown[] = [];
  const reconnects = createReconnects({
    conditions: { set: (...given) => void told.push(given.slice(1)) },
    clock: { monotonic: () => nowMs },
  });
  const every = (ms: number, times: number, externalId: string): void => {
    for (let n = 0; n < times; n += 1) {
      nowMs += ms;
      reconnects.seen(externalId, 'handshake');
    }
  };
  return { every, told, reconnects };
}

test('two boards that push each other out are told once, and it ends when one of them is gone', () => {
  const { every, told, reconnects } = watch();
  every(5_000, 40, 'lamp');
  assert.deepEqual(told, [[true, { externalIds: ['lamp'], count: 1 }]]);
  every(5 * 60_000, 1, 'plug');
  assert.deepEqual(told.slice(1), [[false, { externalIds: [], count: 0 }]]);
  reconnects[Symbol.dispose]();
});

test('a board that sleeps, and one that a person restarts some times, are not told', () => {
  const { every, told, reconnects } = watch();
  every(60_000, 100, 'sleeper');
  every(30_000, 100, 'busy sleeper');
  every(10_000, 5, 'lamp');
  every(120_000, 5, 'lamp');
  assert.deepEqual(told, []);
  reconnects[Symbol.dispose]();
});
