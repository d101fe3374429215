import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { createReadQueue } from './read-queue.ts';

const codeOf = (entering: Promise<unknown>): Promise<string> =>
  entering.then(
    () => 'entered',
    (error: unknown) => (error as { code: string }).code,
  );

test('few pass at a time, in order of arrival; too many are told to come again', async () => {
  const queue = createReadQueue({ atOnce: 2, maxWaiting: 2, waitMs: 60_000 });
  const ends = [await queue.enter(), await queue.enter()];
  const order: string[] = [];
  const third = queue.enter().then((end) => (order.push('third'), end));
  const fourth = queue.enter().then((end) => (order.push('fourth'), end));
  assert.equal(await codeOf(queue.enter()), 'busy');
  await turn();
  assert.deepEqual(order, []);
  ends[0]?.();
  // Ending twice frees one place.
  ends[0]?.();
  const end = await third;
  await turn();
  assert.deepEqual(order, ['third']);
  end();
  (await fourth)();
  ends[1]?.();
  assert.equal(await codeOf(queue.enter()), 'entered');
});

test('a turn that does not come in time ends the wait, and takes no place', async () => {
  const queue = createReadQueue({ atOnce: 1, maxWaiting: 5, waitMs: 1 });
  const end = await queue.enter();
  assert.equal(await codeOf(queue.enter()), 'busy');
  end();
  assert.equal(await codeOf(queue.enter()), 'entered');
});

test('who takes more than the share of the time waits until it is paid for', async () => {
  let now = 0;
  const queue = createReadQueue({ atOnce: 1, share: 0.5, burstMs: 10 }, () => now);
  const read = async (): Promise<void> => {
    const end = await queue.enter();
    now += 10;
    end();
  };
  // The first is within the burst.
  await read();
  await read();
  let isEntered = false;
  const next = queue.enter().then((end) => {
    isEntered = true;
    end();
  });
  await turn();
  assert.equal(isEntered, false);
  now += 10;
  await next;
});
