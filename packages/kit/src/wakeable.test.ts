import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { systemClock } from './clock.ts';
import { createWaker } from './wakeable.ts';

const anHour = 3_600_000;
const { signal } = new AbortController();

describe('a waker', () => {
  it('sleeps for the requested time', async () => {
    assert.equal(await createWaker(systemClock).sleep(1, signal), 'elapsed');
  });

  it('ends the current sleep', async () => {
    const waker = createWaker(systemClock);
    const sleeping = waker.sleep(anHour, signal);
    waker.wake();
    assert.equal(await sleeping, 'woken');
    assert.equal(await waker.sleep(1, signal), 'elapsed');
  });

  it('ends only the next sleep when there is no current one', async () => {
    const waker = createWaker(systemClock);
    waker.wake();
    waker.wake();
    assert.equal(await waker.sleep(anHour, signal), 'woken');
    assert.equal(await waker.sleep(1, signal), 'elapsed');
  });

  it('rejects with the reason of the signal, also after a wake', async () => {
    const waker = createWaker(systemClock);
    const stopping = new AbortController();
    const sleeping = waker.sleep(anHour, stopping.signal);
    waker.wake();
    stopping.abort(new Error('stopping'));
    await assert.rejects(sleeping, { message: 'stopping' });
    await assert.rejects(waker.sleep(1, stopping.signal), { message: 'stopping' });
  });

  it('rejects with the error of the clock', async () => {
    const waker = createWaker({ sleep: async () => Promise.reject(new Error('no clock')) });
    await assert.rejects(waker.sleep(1, signal), { message: 'no clock' });
  });
});
