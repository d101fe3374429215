import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../../testing/until.ts';
import { createInboundQueue } from './inbound-queue.ts';

/** Its clock stands still until `deal` moves it; a sleep moves it too. */
function queue(deal: (text: string | null) => Promise<void> | undefined = () => undefined) {
  const time = { nowMs: 0, sleptMs: 0 };
  const dealt: (string | null)[] = [];
  const calls: string[] = [];
  const inbound = createInboundQueue({
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    deal: (text) => {
      dealt.push(text);
      return deal(text);
    },
    clock: {
      monotonic: () => time.nowMs,
      sleep: async (ms) => {
        time.nowMs += ms;
        time.sleptMs += ms;
      },
    },
  });
  return { inbound, dealt, calls, time };
}

test('frames are handled in order, one in each turn, and reading pauses while some wait', async () => {
  const turns: number[] = [];
  let turn = 0;
  const { inbound, dealt, calls } = queue(() => void turns.push(turn));
  const next = (): void => {
    turn += 1;
    if (turns.length < 5) setImmediate(next);
  };
  setImmediate(next);
  for (const text of ['a', 'b', 'c', null, 'e']) inbound.push(text);
  assert.deepEqual(calls, ['pause']);
  await until('it is read again', () => calls.length === 2);
  assert.deepEqual(dealt, ['a', 'b', 'c', null, 'e']);
  assert.equal(new Set(turns).size, 5);
  inbound.push('f');
  assert.equal(dealt.at(-1), 'f', 'at once');
});

test('a flood gets a tenth of the time: after two milliseconds in a row everybody else has nine times as long', async () => {
  const { inbound, calls, time } = queue(() => {
    time.nowMs += 0.5;
    return undefined;
  });
  for (let frame = 0; frame < 100; frame++) inbound.push('x');
  await until('all are dealt with', () => calls.length === 2);
  assert.equal(time.sleptMs, 450);
});

test('after a frame that waited long for the disk it rests half a second only', async () => {
  const { inbound, calls, time } = queue(() => {
    time.nowMs += 10_000;
    return undefined;
  });
  inbound.push('x');
  await until('it is dealt with', () => calls.length === 2);
  assert.equal(time.sleptMs, 500);
});

test('after closing nothing more is handled', async () => {
  const { inbound, dealt, calls } = queue();
  inbound.push('a');
  inbound.push('b');
  inbound.close();
  inbound.push('c');
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(dealt, ['a']);
  assert.deepEqual(calls, ['pause']);
});

test('a frame that takes several turns blocks later frames and reading until it is done', async () => {
  const begun = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
  const { inbound, dealt, calls } = queue((text) => begun[Number(text)]?.promise);
  for (const text of ['0', '1', '2']) inbound.push(text);
  assert.deepEqual(dealt, ['0']);
  assert.deepEqual(calls, ['pause']);
  begun[0]!.resolve();
  await until('the next is begun', () => dealt.length === 2);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(dealt, ['0', '1']);
  assert.deepEqual(calls, ['pause']);
  begun[1]!.resolve();
  await until('it is read again', () => calls.length === 2);
  assert.deepEqual(dealt, ['0', '1', '2']);
});
