import assert from 'node:assert/strict';
import { test } from 'node:test';
import { until } from '../testing/until.ts';
import { createInboundBudget, createInboundQueue, noLimits, usualLimits } from './inbound-queue.ts';

/** Handles frames as fast as allowed. @returns how many in this many seconds. */
function flood(bytes: number, seconds: number): number {
  const budget = createInboundBudget(usualLimits);
  let frames = 0;
  for (let now = 0; now < seconds * 1000;) {
    const wait = budget.take(bytes, now);
    if (wait === 0) frames += 1;
    now += wait;
  }
  return frames;
}

test('normal use by people is not delayed', () => {
  const budget = createInboundBudget(usualLimits);
  for (let now = 0; now < 60_000; now += 20) assert.equal(budget.take(300, now), 0);
});

test('a flood is handled at the rate of the budget, in frames or in bytes', () => {
  const frames = flood(50, 60);
  assert.ok(frames <= usualLimits.frames + 60 * usualLimits.framesPerSecond, `${frames} small ones`);
  const large = flood(1_000_000, 60);
  assert.ok(large <= 20, `${large} large ones`);
});

test('a batch is paid for call by call', () => {
  const budget = createInboundBudget(usualLimits);
  let calls = 0;
  for (let now = 0; now < 60_000;) {
    const wait = budget.take(50, now);
    if (wait === 0) budget.charge(99);
    if (wait === 0) calls += 100;
    now += wait;
  }
  assert.ok(calls <= usualLimits.frames + 60 * usualLimits.framesPerSecond + 100, `${calls} calls`);
});

test('requested frames cost nothing', () => {
  const budget = createInboundBudget(usualLimits);
  for (let frame = 0; frame < 100_000; frame++) {
    assert.equal(budget.take(30, 0), 0);
    budget.giveBack(30);
  }
});

/** Its clock stands still until the test sets it. */
function queue(limits: typeof usualLimits, deal: (text: string | null) => Promise<void> | undefined = () => undefined) {
  const time = { nowMs: 0 };
  const dealt: (string | null)[] = [];
  const calls: string[] = [];
  const inbound = createInboundQueue({
    limits,
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
    deal: (text) => {
      dealt.push(text);
      return deal(text);
    },
    monotonic: () => time.nowMs,
  });
  return { inbound, dealt, calls, time };
}

test('frames are handled in order, and reading pauses while some wait', async () => {
  const { inbound, dealt, calls, time } = queue({ ...usualLimits, frames: 2, framesPerSecond: 1_000 });
  for (const text of ['a', 'b', 'c', null, 'e']) inbound.push(text, 10);
  assert.deepEqual(dealt, ['a', 'b']);
  assert.deepEqual(calls, ['pause']);
  await until('all are dealt with', () => {
    time.nowMs += 1_000;
    return dealt.length === 5;
  });
  assert.deepEqual(dealt, ['a', 'b', 'c', null, 'e']);
  await until('it is read again', () => calls.length === 2);
  assert.deepEqual(calls, ['pause', 'resume']);
});

test('without limits nothing waits; after closing nothing more is handled', async () => {
  const free = queue(noLimits);
  for (let frame = 0; frame < 1_000; frame++) free.inbound.push('x', 1_000_000);
  assert.equal(free.dealt.length, 1_000);
  const closed = queue({ ...usualLimits, frames: 1, framesPerSecond: 1_000 });
  closed.inbound.push('a', 1);
  closed.inbound.push('b', 1);
  closed.inbound.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual(closed.dealt, ['a']);
});

test('a frame that takes several turns blocks later frames and reading until it is done', async () => {
  const begun = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
  const { inbound, dealt, calls } = queue(noLimits, (text) => begun[Number(text)]?.promise);
  for (const text of ['0', '1', '2']) inbound.push(text, 10);
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
