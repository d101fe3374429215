import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInboundBudget, usualLimits } from './inbound-budget.ts';

/** Reads as fast as it may. @returns frames taken in so many seconds. */
function flood(bytes: number, seconds: number): number {
  const budget = createInboundBudget(usualLimits);
  let frames = 0;
  for (let now = 0; now < seconds * 1000; frames++) now += budget.take(bytes, now);
  return frames;
}

test('what people do is not held up', () => {
  const budget = createInboundBudget(usualLimits);
  for (let now = 0; now < 60_000; now += 20) assert.equal(budget.take(300, now), 0);
});

test('a flood is read at the pace of the limit, in frames or in bytes', () => {
  const frames = flood(50, 60);
  assert.ok(frames <= usualLimits.frames + 61 * usualLimits.framesPerSecond, `${frames} small ones`);
  const large = flood(1_000_000, 60);
  assert.ok(large <= 20, `${large} large ones`);
});
