import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { IgnoredReason } from './peer.ts';

export type IgnoredMessages = {
  count(reason: IgnoredReason): void;
  total(): number;
};

const logEveryMs = 60_000;

/** Frames of the cloud that mean nothing here: counted, and said once a minute at most. */
export function createIgnoredMessages({ clock, logger }: { clock: Clock; logger: BackendLogger }): IgnoredMessages {
  const counts = new Map<IgnoredReason, { count: number; saidAtMs: number | null }>();
  let total = 0;
  return {
    total: () => total,
    count: (reason) => {
      total += 1;
      const entry = counts.get(reason) ?? { count: 0, saidAtMs: null };
      counts.set(reason, entry);
      entry.count += 1;
      const now = clock.monotonic();
      if (entry.saidAtMs !== null && now - entry.saidAtMs < logEveryMs) return;
      entry.saidAtMs = now;
      logger.event('cloud_message_ignored', { reason, count: entry.count });
    },
  };
}
