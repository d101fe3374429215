import type { HistoryEntry, Operation, Status } from '@station/protocol/agent-api';

/** States of a station for the web app, by name. */

const minute = 60_000;
const MB = 1_000_000;

export const ago = (ms: number): string => new Date(Date.now() - ms).toISOString();

const service = (
  name: string,
  image: string,
  health = 'healthy',
  state = 'running',
): Status['stack']['services'][number] => ({
  name,
  image,
  state,
  health,
});

const services = (version: string): Status['stack']['services'] => [
  service('backend', `registry.example/station/backend:${version}`),
  service('frontend', `registry.example/station/frontend:${version}`),
  service('mqtt', 'eclipse-mosquitto:2.0.18'),
  service('proxy', 'caddy:2.8.4', 'none'),
];

export const entry = (id: string, more: Partial<HistoryEntry>): HistoryEntry => ({
  id,
  kind: 'update',
  trigger: 'automatic',
  result: 'updated',
  from: '1.0.0',
  to: '1.1.0',
  reason: null,
  startedAt: ago(20 * 24 * 60 * minute),
  endedAt: ago(20 * 24 * 60 * minute),
  durationMs: 24_300,
  downtimeMs: 1_300,
  ...more,
});

export const reverted = (at: number): HistoryEntry =>
  entry('reverted', {
    to: '1.2.0',
    from: '1.1.0',
    result: 'rolled_back',
    trigger: 'manual',
    code: 'release_unhealthy',
    reason: 'service "backend" reports itself unhealthy',
    endedAt: ago(at),
    durationMs: 41_000,
    downtimeMs: 3_900,
  });

const notes =
  'Lights follow the sunset on their own.\nThe Station page shows how long the station was away.\nFixes: a sensor that fell asleep no longer shows as lost.';

function baseStatus(): Status {
  return {
    stationId: '0a4ec1f6-6f0b-4c4e-9d9b-0f1d3f6f7f10',
    agentVersion: '0.1.0',
    startedAt: ago(9 * 24 * 60 * minute),
    currentVersion: '1.1.0',
    latestVersion: '1.1.0',
    latestNotes: notes,
    updateAvailable: false,
    updating: false,
    autoUpdate: true,
    lastCheckAt: ago(5 * minute),
    lastError: null,
    operation: null,
    rollback: { version: '1.0.0', createdAt: ago(20 * 24 * 60 * minute) },
    quarantined: [],
    history: [
      entry('u1', {}),
      entry('b0', {
        kind: 'rollback',
        trigger: 'manual',
        result: 'rolled_back',
        from: '1.0.1',
        to: '1.0.0',
        endedAt: ago(33 * 24 * 60 * minute),
        durationMs: 8_200,
        downtimeMs: 1_100,
      }),
      entry('u0', { from: '1.0.0', to: '1.0.1', endedAt: ago(34 * 24 * 60 * minute) }),
    ],
    stack: { services: services('1.1.0') },
    firmware: { cacheDir: 'firmware-cache', lastCheckAt: ago(5 * minute), lastError: null, items: [] },
    wifi: {
      mode: 'ethernet',
      ssid: null,
      ip: '192.0.2.20',
      signal: null,
      connectivity: 'full',
      hotspot: { active: false, ssid: null, ip: null, clients: 0 },
      watchdog: {
        state: 'DISABLED',
        since: ago(9 * 24 * 60 * minute),
        attempts: 0,
        nextRetryAt: null,
        lastFailure: null,
      },
    },
    conditions: [],
  };
}

export const operation = (phase: Operation['phase'], more: Partial<Operation> = {}): Operation => ({
  id: 'op-1',
  kind: 'update',
  phase,
  trigger: 'manual',
  startedAt: ago(18_000),
  version: '1.2.0',
  progress: { doneBytes: 0, totalBytes: null, percent: null },
  ...more,
});

const ready = (): Status => ({ ...baseStatus(), latestVersion: '1.2.0', updateAvailable: true });
const during = (running: Operation): Status => ({ ...ready(), updating: true, operation: running });
const progress = (doneBytes: number, totalBytes: number | null): Operation['progress'] => ({
  doneBytes,
  totalBytes,
  percent: totalBytes === null ? null : (100 * doneBytes) / totalBytes,
});
const condition = (
  id: string,
  severity: 'info' | 'warning' | 'fault',
  at = 40 * minute,
): Status['conditions'][number] => ({
  id,
  severity,
  message: `Simulated condition ${id}.`,
  since: ago(at),
});
const held = (version: string): Status['quarantined'][number] => ({
  version,
  code: 'release_unhealthy',
  reason: 'service "backend" reports itself unhealthy',
  at: ago(2 * minute),
});

export const scenes: Record<string, () => Status> = {
  fine: baseStatus,
  ready,
  'ready-link': () => ({
    ...ready(),
    latestNotes: 'https://station.example/releases/1.2.0',
    autoUpdate: false,
    rollback: null,
  }),
  preparing: () => during(operation('preparing')),
  pulling: () => during(operation('pulling', { progress: progress(12.4 * MB, 48.1 * MB) })),
  'pulling-unknown': () => during(operation('pulling', { progress: progress(12.4 * MB, null) })),
  switching: () => during(operation('switching', { progress: progress(48.1 * MB, 48.1 * MB) })),
  reverting: () => during(operation('reverting', { progress: progress(48.1 * MB, 48.1 * MB) })),
  'rolling-back': () => ({
    ...baseStatus(),
    updating: true,
    operation: operation('switching', { kind: 'rollback', version: '1.0.0' }),
  }),
  updated: () => ({
    ...baseStatus(),
    history: [entry('u2', { endedAt: ago(minute / 2), trigger: 'manual' }), ...baseStatus().history.slice(1)],
  }),
  reverted: () => ({
    ...ready(),
    quarantined: [held('1.2.0')],
    history: [reverted(2 * minute), ...baseStatus().history],
  }),
  'not-installed': () => ({
    ...ready(),
    conditions: [condition('registry_unreachable', 'warning')],
    history: [
      entry('n1', {
        to: '1.2.0',
        from: '1.1.0',
        result: 'failed',
        code: 'registry_unavailable',
        reason: 'the registry did not answer',
        downtimeMs: null,
        endedAt: ago(3 * minute),
      }),
      ...baseStatus().history,
    ],
  }),
  conditions: () => ({
    ...baseStatus(),
    conditions: [
      condition('manifest_unreachable', 'info'),
      condition('clock_behind', 'warning'),
      condition('disk_space_low', 'fault', 3 * 60 * minute),
      condition('something_new', 'warning'),
    ],
    stack: {
      services: [
        service('backend', 'registry.example/station/backend:1.1.0', 'unhealthy'),
        ...services('1.1.0').slice(1, 3),
        service('proxy', 'caddy:2.8.4', 'none', 'restarting'),
      ],
    },
  }),
  attention: () => ({
    ...baseStatus(),
    conditions: [condition('rollback_unavailable', 'warning'), condition('compose_not_linked', 'warning')],
  }),
  down: () => ({
    ...baseStatus(),
    stack: {
      services: [
        service('backend', 'registry.example/station/backend:1.1.0', 'none', 'exited'),
        ...services('1.1.0').slice(1),
      ],
    },
  }),
  empty: () => ({
    ...baseStatus(),
    currentVersion: null,
    latestVersion: null,
    latestNotes: null,
    rollback: null,
    history: [],
    lastCheckAt: null,
    stack: { services: [] },
  }),
};
