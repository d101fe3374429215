import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@station/kit/clock';
import { createPortalActions, type WatchdogRun } from './wifi-run.ts';

test('somebody who asks for scans without a pause gets one in ten seconds', async () => {
  let nowMs = 0;
  let endedMs: number | null = null;
  let scans = 0;
  const scanner = {
    endedMs: () => endedMs,
    scan: async () => {
      scans += 1;
      nowMs += 3_000;
      endedMs = nowMs;
    },
  };
  const actions = createPortalActions({ scanner } as unknown as WatchdogRun, {
    radio: { networks: () => [] },
    hotspot: { ssid: '', password: null },
    stationAddress: 'http://station.local/',
    clock: { monotonic: () => nowMs, sleep: () => new Promise<void>(() => undefined) } as unknown as Clock,
    wake: () => undefined,
    signal: () => new AbortController().signal,
  });
  while (nowMs < 60_000) {
    await actions.rescan();
    nowMs += 100;
  }
  assert.equal(scans, 5);
});
