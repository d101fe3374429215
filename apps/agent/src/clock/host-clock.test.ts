import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Clock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import type { AgentLogger } from '@station/kit/logger';
import { createHostClock } from './host-clock.ts';

test('a clock that is set back and forth without a pause is set once in ten seconds', async (t) => {
  const dataDir = await mkdtemp(join(tmpdir(), 'host-clock-'));
  t.after(() => rm(dataDir, { recursive: true }));
  let monotonicMs = 0;
  let offsetMs = Date.UTC(2026, 5, 1);
  let settings = 0;
  let isBroken = false;
  const clock = { now: () => offsetMs + monotonicMs, monotonic: () => monotonicMs } as Clock;
  const hostClock = createHostClock({
    system: {
      isNtpSynchronized: async () => false,
      uptimeMs: () => monotonicMs,
      set: async (now) => {
        settings += 1;
        if (isBroken) throw new Error('no answer');
        offsetMs = now - monotonicMs;
      },
    },
    disk: nodeDisk,
    dataDir,
    bootId: 'boot',
    clock,
    logger: { event: () => undefined, failed: () => undefined } as unknown as AgentLogger,
  });
  const years = [2030, 2050];
  for (let call = 0; call < 600; call += 1) {
    await hostClock.set(Date.UTC(years[call % 2] ?? 0, 0, 1)).catch((error: Error) => {
      assert.match(error.message, /was set a moment ago/);
    });
    monotonicMs += 100;
  }
  assert.equal(settings, 6);
  isBroken = true;
  monotonicMs += 10_000;
  await assert.rejects(hostClock.set(Date.UTC(2030, 0, 1)), /did not set the clock/);
  await assert.rejects(hostClock.set(Date.UTC(2030, 0, 1)), /was set a moment ago/);
  assert.equal(settings, 7);
});
