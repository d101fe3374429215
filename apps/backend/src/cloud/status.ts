import { type Clock, isoTime } from '@station/kit/clock';
import type { ExclusiveRunner } from '@station/kit/exclusive-runner';
import type { CloudCondition, CloudStatus } from '@station/protocol/cloud';
import { type CloudConditionId, cloudConditions } from '@station/protocol/cloud-conditions';
import type { BackendLogger } from '@station/kit/logger';
import type { SocketHub } from '../socket/hub.ts';
import type { CloudConfig } from './cloud-config-store.ts';
import type { LinkTrouble, LinkView } from './link-decide.ts';
import type { OutboxStore } from './outbox-store.ts';

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

type StatusTeller = Disposable & {
  /** Reads the status, and tells everyone at `/ws` if it is another one. */
  tell(): void;
  /** The same, told in any case: there is another code to claim the station, which the status does not hold. */
  tellAnew(): void;
  /** The same, soon: what changes many times a second is told a few times. */
  tellSoon(): void;
  /** Nothing waits for the cloud any more: told soon, if people believe that something does. */
  drained(): void;
};

const soonMs = 500;

/** @param latest as it is now; whoever comes to `/ws` is told the one that was read last. */
export function createStatusTeller(parts: {
  latest: CloudStatus;
  read(): Promise<CloudStatus>;
  hub: Pick<SocketHub, 'broadcast' | 'replay'>;
  run: ExclusiveRunner['run'];
  onFault(error: unknown): void;
  clock: Clock;
}): StatusTeller {
  let { latest } = parts;
  const message = () => ({ type: 'cloud_status', at: isoTime(parts.clock.now()), status: latest }) as const;
  const look = async (evenIfSame: boolean): Promise<void> => {
    const before = JSON.stringify(latest);
    latest = await parts.read();
    if (evenIfSame || JSON.stringify(latest) !== before) parts.hub.broadcast(message(), 'cloud_status');
  };
  const lookAndTell = (evenIfSame: boolean): void => void parts.run(() => look(evenIfSame)).catch(parts.onFault);
  const tell = (): void => lookAndTell(false);
  let soon: NodeJS.Timeout | undefined;
  const tellSoon = (): void => {
    soon ??= setTimeout(() => {
      soon = undefined;
      tell();
    }, soonMs).unref();
  };
  const replaying = parts.hub.replay(() => [message()]);
  return {
    tell,
    tellAnew: () => lookAndTell(true),
    tellSoon,
    drained: () => {
      if (latest.outbox.pending > 0) tellSoon();
    },
    [Symbol.dispose]: () => {
      clearTimeout(soon);
      replaying[Symbol.dispose]();
    },
  };
}

/** What conditions follow from. Times are milliseconds since the epoch. */
export type CloudFacts = {
  now: number;
  isClaimed: boolean;
  /** It was claimed, but the log-in can no longer be read. */
  isKeyLost: boolean;
  /** Null: another backend holds the link. */
  link: { isRejected: boolean; trouble: LinkTrouble | null; downSince: number | null } | null;
  outbox: { bytes: number; maxBytes: number; dropped: number };
  setAside: { count: number; oldestAt: number | null };
};

/** A home line that is away for a restart of its router is nothing to tell anybody. */
export const unreachableAfterMs = 15 * 60_000;
const nearlyFull = 0.8;
/** What is trimmed to the limit is just below it. */
const full = 0.98;

/** What is wrong, of these facts alone. `since` is null where they do not say it. */
export function conditionsOf(facts: CloudFacts): { id: CloudConditionId; since: number | null }[] {
  const { now, isClaimed, isKeyLost, link, outbox, setAside } = facts;
  const found: { id: CloudConditionId; since: number | null }[] = [];
  const stand = (id: CloudConditionId, since: number | null = null): void => void found.push({ id, since });
  if (isKeyLost) stand('cloud_key_lost');
  if (link?.isRejected) stand('cloud_rejected');
  if (link?.trouble === 'certificate') stand('cloud_certificate_untrusted');
  if (link?.trouble === 'clock') stand('cloud_clock_wrong');
  const isExplained = link === null || link.isRejected || link.trouble !== null;
  const downSince = link?.downSince ?? null;
  if (isClaimed && !isExplained && downSince !== null && now - downSince >= unreachableAfterMs) {
    stand('cloud_unreachable', downSince);
  }
  const filled = outbox.bytes / outbox.maxBytes;
  if (isClaimed && filled >= full && outbox.dropped > 0) stand('cloud_outbox_full');
  else if (isClaimed && filled >= nearlyFull) stand('cloud_outbox_nearly_full');
  if (setAside.count > 0) stand('cloud_messages_set_aside', setAside.oldestAt);
  return found;
}

/** Keeps since when each stands, and logs each as it comes and goes. */
type StandingConditions = { look(facts: CloudFacts): CloudCondition[] };

export function createStandingConditions({
  clock,
  logger,
}: {
  clock: Clock;
  logger: BackendLogger;
}): StandingConditions {
  const since = new Map<CloudConditionId, number>();
  return {
    look: (facts) => {
      const found = conditionsOf(facts);
      for (const id of [...since.keys()]) {
        if (found.some((one) => one.id === id)) continue;
        since.delete(id);
        logger.event('cloud_condition_cleared', { condition: id });
      }
      return found.map(({ id, since: told }) => {
        const { severity, message } = cloudConditions[id];
        if (!since.has(id)) logger.event('cloud_condition_raised', { condition: id, severity });
        const began = since.get(id) ?? told ?? clock.now();
        since.set(id, began);
        return { id, severity, message, since: isoTime(began) };
      });
    },
  };
}

/** A clock that was set is told again; the two clocks drifting apart by a little is not. */
const toleranceMs = 1_000;

/**
 * From the clock that only goes forward to the one on the wall. Asked again for the same moment it answers the same, to the millisecond, so that
 * what did not change does not look as if it had.
 * @param name of the moment, of which there is one at a time. @returns milliseconds since the epoch.
 */
export function createWallTimes(clock: Clock): (name: string, monotonicMs: number | null) => number | null {
  const known = new Map<string, { monotonicMs: number; wallMs: number }>();
  return (name, monotonicMs) => {
    if (monotonicMs === null) return null;
    const wallMs = Math.round(clock.now() + monotonicMs - clock.monotonic());
    const before = known.get(name);
    if (before?.monotonicMs === monotonicMs && Math.abs(before.wallMs - wallMs) < toleranceMs) return before.wallMs;
    known.set(name, { monotonicMs, wallMs });
    return wallMs;
  };
}
