import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isoTime, systemClock } from './clock.ts';

describe('the system clock', () => {
  it('sleeps at least as long as requested', async () => {
    const start = systemClock.monotonic();
    await systemClock.sleep(20);
    // Timers count whole milliseconds.
    assert.ok(systemClock.monotonic() - start >= 19);
  });

  it('rejects with the reason of the signal, for short and long sleeps', async () => {
    const reason = new Error('stop');
    await assert.rejects(systemClock.sleep(0, AbortSignal.abort(reason)), reason);
    await assert.rejects(systemClock.sleep(1000, AbortSignal.abort(reason)), reason);
    for (const ms of [1000, 2 ** 40]) {
      const controller = new AbortController();
      const sleeping = systemClock.sleep(ms, controller.signal);
      controller.abort(reason);
      await assert.rejects(sleeping, reason);
    }
  });
});

describe('isoTime', () => {
  it('is UTC with milliseconds', () => assert.equal(isoTime(0), '1970-01-01T00:00:00.000Z'));
});
