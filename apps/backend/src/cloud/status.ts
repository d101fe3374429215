import { isoTime, type Clock } from '@station/kit/clock';
import type { CloudStatus } from '@station/protocol/cloud';
import type { CloudConfig } from './cloud-config-store.ts';
import type { LinkView } from './link-machine.ts';
import type { OutboxSize } from './outbox-store.ts';

/** What people are shown (contracts, section 9). @param given.view null: another backend holds the link. */
export function statusOf(given: {
  host: string;
  view: LinkView | null;
  config: CloudConfig;
  size: OutboxSize;
  setAside: number;
  clock: Clock;
}): CloudStatus {
  const { host, view, config, size, setAside, clock } = given;
  const wallTime = (monotonicMs: number | null): string | null =>
    monotonicMs === null ? null : isoTime(Math.round(clock.now() + monotonicMs - clock.monotonic()));
  const resting = config.stationToken === null ? 'unclaimed' : 'offline';
  return {
    state: view?.state ?? resting,
    host,
    connectedSince: wallTime(view?.authenticatedAtMs ?? null),
    claimedAt: config.claimedAt === null ? null : isoTime(config.claimedAt),
    lastError: view === null ? 'Another backend of this station holds the link.' : view.lastError,
    nextAttemptAt: wallTime(view?.nextAttemptAtMs ?? null),
    activeChannels: [...config.activeChannels],
    outbox: {
      pending: size.pending,
      oldestAt: size.oldestAt === null ? null : isoTime(size.oldestAt),
      dropped: config.dropped,
      setAside,
    },
  };
}

/** Of a station without a cloud. */
export const disabledStatus: CloudStatus = {
  state: 'disabled',
  host: null,
  connectedSince: null,
  claimedAt: null,
  lastError: null,
  nextAttemptAt: null,
  activeChannels: [],
  outbox: { pending: 0, oldestAt: null, dropped: 0, setAside: 0 },
};
