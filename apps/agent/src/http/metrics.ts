import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import type { Status } from '@station/protocol/agent-api';
import type { EventName } from '@station/protocol/events';
import type { Tally } from './metrics-registry.ts';

export type Metrics = Disposable & {
  /** The text of `GET /metrics` and its content type. */
  render(status: Status): Promise<{ text: string; contentType: string }>;
};

/** Counts logged events; all other values are read at each request. */
export function createMetrics(parts: { logger: AgentLogger; clock: Clock; agentVersion: string }): Metrics {
  const { logger, clock, agentVersion } = parts;
  const startedMs = clock.monotonic();
  const tally: Tally = {
    operations: { updated: 0, failed: 0, rolled_back: 0, rollback_failed: 0 },
    healthChecks: { passed: 0, failed: 0 },
    firmwareDownloads: { done: 0, failed: 0, refused: 0 },
    images: { healed: 0, not_healed: 0 },
    unexpectedErrors: 0,
  };
  const subscription = logger.subscribe((line) => {
    counters[line.event]?.(tally);
    if (line.event === 'images_not_healed') tally.images.not_healed += line.images.length;
  });
  let registry: Promise<typeof import('./metrics-registry.ts')> | null = null;
  return {
    render: async (status) => {
      // Load the library (about 9 MB) only at the first request: most stations never serve metrics.
      registry ??= import('./metrics-registry.ts');
      const { renderMetrics } = await registry;
      return renderMetrics({ status, tally, agentVersion, uptimeSeconds: (clock.monotonic() - startedMs) / 1000 });
    },
    [Symbol.dispose]: () => subscription[Symbol.dispose](),
  };
}

/** The result of an ended operation or check in an event. */
const counters: Partial<Record<EventName, (tally: Tally) => void>> = {
  update_completed: (tally) => (tally.operations.updated += 1),
  update_failed: (tally) => (tally.operations.failed += 1),
  rollback_completed: (tally) => (tally.operations.rolled_back += 1),
  rollback_failed: (tally) => (tally.operations.rollback_failed += 1),
  healthcheck_passed: (tally) => (tally.healthChecks.passed += 1),
  healthcheck_failed: (tally) => (tally.healthChecks.failed += 1),
  firmware_download_done: (tally) => (tally.firmwareDownloads.done += 1),
  firmware_download_failed: (tally) => (tally.firmwareDownloads.failed += 1),
  firmware_refused: (tally) => (tally.firmwareDownloads.refused += 1),
  image_healed: (tally) => (tally.images.healed += 1),
  unexpected_error: (tally) => (tally.unexpectedErrors += 1),
};
