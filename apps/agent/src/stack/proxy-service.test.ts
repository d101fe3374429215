import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@station/kit/clock';
import { StationError } from '@station/kit/station-error';
import type { StackEngine } from './stack-ports.ts';
import { createPort80Lock, createProxyService, untilFree } from './proxy-service.ts';

const signal = new AbortController().signal;

/** Each sleep lets everything else happen first; time passes by what is slept. */
function quickClock(): Clock {
  let now = 0;
  return {
    now: () => now,
    monotonic: () => now,
    sleep: async (ms, given) => {
      given?.throwIfAborted();
      await new Promise((resolve) => setImmediate(resolve));
      given?.throwIfAborted();
      now += ms;
    },
  };
}

function setUp(setRunning: (running: boolean) => void, service = 'proxy') {
  const clock = quickClock();
  const lock = createPort80Lock();
  const done: string[] = [];
  const engine = {
    up: async () => {
      done.push('up');
      return { kind: 'ok', stoppedAtMs: null };
    },
    setRunning: async (service: string, running: boolean) => {
      setRunning(running);
      done.push(`${running ? 'start' : 'stop'} ${service}`);
    },
  } as unknown as StackEngine;
  const events: string[] = [];
  const proxy = createProxyService({
    engine,
    stack: {
      untilProxyIsFree: async () => void done.push('stack work ends'),
      wake: () => void done.push('wake'),
    },
    lock,
    service,
    clock,
    logger: {
      event: (name) => void events.push(name),
      failed: () => void events.push('unexpected_error'),
      subscribe: () => ({ [Symbol.dispose]: () => undefined }),
      keepSecret: () => undefined,
    },
  });
  return { clock, lock, done, engine, events, proxy };
}

test('the proxy is stopped once stack work that needs it has ended, and nothing new begins', async () => {
  const { proxy, done, lock } = setUp(() => undefined);
  assert.equal(await proxy.stop(signal), 'stopped');
  assert.deepEqual(done, ['stack work ends', 'stop proxy']);
  assert.equal(lock.isTaken(), true);
});

test('a bring-up waits while the lock is taken, reports that it is alive, and continues when the proxy is back', async () => {
  const { proxy, done, lock, clock } = setUp(() => undefined);
  let alive = 0;
  await proxy.stop(signal);
  const up = untilFree(lock, { clock, alive: () => alive++ }, signal).then(() => done.push('up'));
  while (alive < 3) await clock.sleep(1);
  assert.ok(!done.includes('up'));
  assert.equal(await proxy.start(signal), 'started');
  await up;
  assert.deepEqual(done, ['stack work ends', 'stop proxy', 'wake', 'start proxy', 'up']);
});

test('a bring-up that waits ends with the agent', async () => {
  const { proxy, lock, clock } = setUp(() => undefined);
  await proxy.stop(signal);
  const stopping = new AbortController();
  const up = untilFree(lock, { clock, alive: () => stopping.abort(new Error('stop')) }, stopping.signal);
  await assert.rejects(up, /stop/);
});

test('an engine that does not answer for a moment is asked again; one that does not for long is reported and not waited for', async () => {
  let failures = 3;
  const { proxy, events } = setUp(() => {
    if (failures-- > 0) throw new StationError('unavailable', 'the container engine does not answer');
  });
  assert.equal(await proxy.stop(signal), 'stopped');
  failures = Infinity;
  assert.equal(await proxy.start(signal), 'failed');
  assert.deepEqual(events, ['engine_failed']);
});

test('the proxy is the service that REVERSE_PROXY_SERVICE names', async () => {
  const { proxy, done } = setUp(() => undefined, 'edge');
  await proxy.stop(signal);
  await proxy.start(signal);
  assert.deepEqual(done, ['stack work ends', 'stop edge', 'wake', 'start edge']);
});
