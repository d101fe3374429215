import { isoTime, type Clock } from '@station/kit/clock';
import type { CloudStatus } from '@station/protocol/cloud';
import type { CloudConfig } from './cloud-config-store.ts';
import type { StandingConditions } from './conditions.ts';
import type { LinkView } from './link-machine.ts';
import type { OutboxStore } from './outbox-store.ts';
import { createWallTimes } from './wall-times.ts';

/** What people are shown (contracts, section 9), read anew at each call. */
export function createStatusReader(parts: {
  host: string;
  maxBytes: number;
  /** Null: another backend holds the link. */
  view(): (LinkView & { heardAtMs: number | null }) | null;
  config: { read(): Promise<CloudConfig> };
  outbox: Pick<OutboxStore, 'size' | 'setAsideSize'>;
  conditions: StandingConditions;
  askedAt(): string | null;
  clock: Clock;
}): () => Promise<CloudStatus> {
  const { host, maxBytes, outbox, clock } = parts;
  const wall = createWallTimes(clock);
  return async () => {
    const [config, size, setAside] = [await parts.config.read(), await outbox.size(), await outbox.setAsideSize()];
    const view = parts.view();
    const isClaimed = config.stationToken !== null;
    const resting = isClaimed ? 'offline' : 'unclaimed';
    const conditions = parts.conditions.look({
      now: clock.now(),
      isClaimed,
      isKeyLost: !isClaimed && config.claimedAt !== null,
      link: view && {
        isRejected: view.state === 'rejected',
        trouble: view.trouble,
        downSince: wall('down', view.downSinceMs),
      },
      outbox: { bytes: size.bytes, maxBytes, dropped: config.dropped },
      setAside,
    });
    return {
      state: view?.state ?? resting,
      host,
      isHeldHere: view !== null,
      connectedSince: iso(wall('connected', view?.authenticatedAtMs ?? null)),
      claimedAt: isClaimed ? iso(config.claimedAt) : null,
      lastHeardAt: iso(wall('heard', view?.heardAtMs ?? null)),
      lastError: view === null ? 'Another backend of this station holds the link.' : view.lastError,
      nextAttemptAt: iso(wall('next', view?.nextAttemptAtMs ?? null)),
      activeChannels: [...config.activeChannels],
      outbox: {
        pending: size.pending,
        oldestAt: iso(size.oldestAt),
        bytes: size.bytes,
        maxBytes,
        dropped: config.dropped,
        setAside: setAside.count,
      },
      conditions,
      askedAt: parts.askedAt(),
    };
  };
}

const iso = (epochMs: number | null): string | null => (epochMs === null ? null : isoTime(epochMs));

/** Of a station without a cloud. */
export const disabledStatus: CloudStatus = {
  state: 'disabled',
  host: null,
  isHeldHere: true,
  connectedSince: null,
  claimedAt: null,
  lastHeardAt: null,
  lastError: null,
  nextAttemptAt: null,
  activeChannels: [],
  outbox: { pending: 0, oldestAt: null, bytes: 0, maxBytes: 0, dropped: 0, setAside: 0 },
  conditions: [],
  askedAt: null,
};
