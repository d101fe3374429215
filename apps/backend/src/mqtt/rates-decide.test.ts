import assert from 'node:assert/strict';
import { test } from 'node:test';
import { charge, historyRate, type Rate, readingRate } from './rates-decide.ts';

const rate: Rate = { bytesPerSecond: 1_000, burstBytes: 5_000 };

test('a burst is within the rate, then only what the rate allows', () => {
  let paidAtMs = 0;
  const early = [1_000, 4_000, 1, 1_000].map((bytes) => {
    const charged = charge(rate, paidAtMs, bytes, 50_000);
    ({ paidAtMs } = charged);
    return charged.earlyMs;
  });
  assert.deepEqual(early, [0, 0, 1, 1_001]);
});

test('a pause restores the burst, not more', () => {
  const { paidAtMs } = charge(rate, 0, 5_000, 1_000);
  assert.equal(charge(rate, paidAtMs, 2_000, 3_000).earlyMs, 0);
  assert.equal(charge(rate, paidAtMs, 2_001, 3_000).earlyMs, 1);
  assert.equal(charge(rate, paidAtMs, 5_001, 1_000_000).earlyMs, 1);
});

test('ten messages a second of 4 KiB are never early', () => {
  for (const one of [historyRate, readingRate]) {
    let paidAtMs = 0;
    for (let nowMs = 0; nowMs < 24 * 60 * 60 * 1000; nowMs += 100) {
      const charged = charge(one, paidAtMs, 4_096 + 300, nowMs);
      assert.equal(charged.earlyMs, 0);
      ({ paidAtMs } = charged);
    }
  }
});
