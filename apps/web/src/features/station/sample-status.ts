import type { HistoryEntry, Operation, Status } from '@station/protocol/agent-api';

/** A healthy station for tests to change one thing of. */
export const sampleStatus = (change: Partial<Status> = {}): Status => ({
  stationId: '0a4ec1f6-6f0b-4c4e-9d9b-0f1d3f6f7f10',
  agentVersion: '0.1.0',
  startedAt: '2026-11-20T10:00:00.000Z',
  currentVersion: '1.1.0',
  latestVersion: '1.1.0',
  latestNotes: null,
  updateAvailable: false,
  updating: false,
  autoUpdate: true,
  lastCheckAt: '2026-11-20T11:00:00.000Z',
  lastError: null,
  operation: null,
  rollback: null,
  quarantined: [],
  history: [],
  stack: {
    services: [
      { name: 'backend', image: 'station/backend:1.1.0', state: 'running', health: 'healthy' },
      { name: 'proxy', image: 'caddy:2', state: 'running', health: 'none' },
    ],
  },
  firmware: { cacheDir: '', lastCheckAt: null, lastError: null, items: [] },
  wifi: {
    mode: 'disabled',
    ssid: null,
    ip: null,
    signal: null,
    connectivity: null,
    hotspot: { active: false, ssid: null, ip: null, clients: 0 },
    watchdog: {
      state: 'DISABLED',
      since: '2026-11-20T10:00:00.000Z',
      attempts: 0,
      nextRetryAt: null,
      lastFailure: null,
    },
  },
  conditions: [],
  ...change,
});

export const sampleOperation = (change: Partial<Operation> = {}): Operation => ({
  id: 'op-1',
  kind: 'update',
  phase: 'pulling',
  trigger: 'manual',
  startedAt: '2026-11-20T11:00:00.000Z',
  version: '1.2.0',
  progress: { doneBytes: 0, totalBytes: null, percent: null },
  ...change,
});

export const sampleEntry = (change: Partial<HistoryEntry> = {}): HistoryEntry => ({
  id: 'h-1',
  kind: 'update',
  trigger: 'manual',
  result: 'updated',
  from: '1.0.0',
  to: '1.1.0',
  reason: null,
  startedAt: '2026-11-20T11:00:00.000Z',
  endedAt: '2026-11-20T11:00:24.000Z',
  durationMs: 24_000,
  downtimeMs: 1_300,
  ...change,
});
