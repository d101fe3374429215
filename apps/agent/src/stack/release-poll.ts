import { createHash } from 'node:crypto';
import { isoTime, type Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff, type Backoff } from '@station/kit/retry';
import type { ReleaseManifest } from '@station/protocol/release-manifest';
import { isNewer } from '@station/protocol/version';
import type { AgentConditions } from '@station/kit/conditions';
import { chooseAutomatic, type Choice, nextTimeFloor } from './release-decide.ts';
import type { ReleaseCheck, ReleaseSource } from './release-source.ts';
import type { JournalKeeper } from './journal-keeper.ts';

export type ReleasePollParts = {
  keeper: JournalKeeper;
  source: ReleaseSource;
  conditions: AgentConditions;
  /** Null: nobody knows. Never rejects. */
  isClockRight: () => Promise<boolean | null>;
  clock: Clock;
  logger: AgentLogger;
  stationId: string;
  agentVersion: string;
  isAutomatic: () => boolean;
  bootstrapOnStart: boolean;
  checkIntervalMs: number;
  /** Whether automatic updates may begin at a time (epoch, milliseconds). */
  isMaintenanceTime: (now: number) => boolean;
  random: () => number;
};

/** Polls the release manifest and decides what to do with it. */
export type ReleasePoll = {
  check(signal: AbortSignal): Promise<ReleaseCheck>;
  /** Monotonic time of the next check. */
  dueMs(): number;
  lastCheckAt(): string | null;
  latest(): ReleaseManifest | null;
  /** Version of the latest release if it will be installed automatically, now or in the maintenance window; else null. */
  wanted(): string | null;
  /** Decides whether the latest release is installed automatically; logs each new outcome once. */
  choose(manifest: ReleaseManifest): Choice;
};

/** First pause after a failed check; it doubles up to the check interval. */
export const firstRetryMs = 15_000;

/** What the functions below share. */
type Poll = ReleasePollParts & {
  retry: Backoff;
  state: {
    dueMs: number;
    lastCheckAt: string | null;
    /** The release and the outcome that were logged last. */ announced: string | null;
  };
};

export function createReleasePoll(parts: ReleasePollParts): ReleasePoll {
  const { source, conditions, random, checkIntervalMs } = parts;
  const maxMs = Math.max(firstRetryMs, checkIntervalMs);
  const retry = createBackoff({ initialMs: firstRetryMs, maxMs, jitter: 0.2, random });
  const state: Poll['state'] = { dueMs: -Infinity, lastCheckAt: null, announced: null };
  const poll: Poll = { ...parts, retry, state };
  return {
    check: (signal) => check(poll, signal),
    dueMs: () => state.dueMs,
    lastCheckAt: () => state.lastCheckAt,
    latest: () => source.latest(),
    wanted: () => {
      const manifest = source.latest();
      const choice = manifest && judge(poll, manifest);
      const isWanted =
        choice?.kind === 'install' || (choice?.kind === 'deferred' && choice.reason === 'maintenance_window');
      return isWanted ? (manifest?.version ?? null) : null;
    },
    choose: (manifest) => {
      const choice = judge(poll, manifest);
      conditions.set('agent_too_old', choice.kind === 'deferred' && choice.reason === 'agent_too_old');
      announce(poll, manifest, choice);
      return choice;
    },
  };
}

async function check(poll: Poll, signal: AbortSignal): Promise<ReleaseCheck> {
  const { keeper, source, conditions, clock, logger, random, checkIntervalMs, retry, state } = poll;
  const answer = await source.check(keeper.journal().highestSignedVersion, signal);
  conditions.set('manifest_rejected', answer.kind === 'rejected');
  conditions.set('manifest_unreachable', answer.kind === 'unavailable');
  if (answer.kind === 'ok') {
    retry.reset();
    state.lastCheckAt = isoTime(clock.now());
    await remember(poll, answer.manifest);
  }
  // Jitter: the stations of a fleet must not all ask at the same time.
  const usualMs = checkIntervalMs * (1 + 0.1 * (2 * random() - 1));
  // Also after a rejection: manifest and signature are two files, which are uploaded one after the other and cached apart.
  const soonMs = answer.kind === 'ok' ? usualMs : Math.min(usualMs, retry.nextMs());
  const nextMs = answer.kind === 'unavailable' ? Math.max(soonMs, answer.retryAfterMs ?? 0) : soonMs;
  if (answer.kind === 'rejected') logger.event('manifest_rejected', { reason: answer.reason });
  if (answer.kind === 'unavailable')
    logger.event('manifest_check_failed', { reason: answer.reason, retryInMs: Math.round(nextMs) });
  state.dueMs = clock.monotonic() + nextMs;
  return answer;
}

/** Records the highest signed version and the time floor for later checks. */
async function remember({ keeper, source, clock, ...poll }: Poll, manifest: ReleaseManifest): Promise<void> {
  const isClockRight = await poll.isClockRight();
  const { highestSignedVersion, timeFloor } = keeper.journal();
  const higher = source.isSigned && isNewer(manifest.version, highestSignedVersion);
  const floorMs = nextTimeFloor({ floor: timeFloor, nowMs: clock.now(), isClockRight });
  if (!higher && floorMs === null) return;
  await keeper.remember({
    ...(higher ? { highestSignedVersion: manifest.version } : {}),
    ...(floorMs === null ? {} : { timeFloor: isoTime(floorMs) }),
  });
}

function announce({ keeper, logger, state }: Poll, manifest: ReleaseManifest, choice: Choice): void {
  const outcome = choice.kind === 'deferred' ? choice.reason : choice.kind;
  const key = `${manifest.version} ${outcome}`;
  if (key === state.announced || choice.kind === 'current') return;
  state.announced = key;
  const latestVersion = manifest.version;
  const currentVersion = keeper.journal().installed?.version ?? null;
  logger.event('update_available', { currentVersion, latestVersion });
  if (choice.kind === 'deferred') logger.event('update_deferred', { latestVersion, reason: choice.reason });
}

function judge(poll: Poll, manifest: ReleaseManifest): Choice {
  const journal = poll.keeper.journal();
  return chooseAutomatic(manifest, {
    journal,
    agentVersion: poll.agentVersion,
    isAutomatic: poll.isAutomatic(),
    mustInstall: poll.bootstrapOnStart && journal.installed === null,
    insideWindow: poll.isMaintenanceTime(poll.clock.now()),
    takesPart: takesPart(poll.stationId, manifest),
    isForgeable: poll.source.isForgeable,
  });
}

/** A station takes part when its share of the hash falls below the rollout (contracts, section 1). */
export function takesPart(stationId: string, manifest: Pick<ReleaseManifest, 'version' | 'rollout'>): boolean {
  const hash = createHash('sha256')
    .update(stationId + manifest.version)
    .digest('hex');
  return Number(BigInt(`0x${hash}`) % 100n) < manifest.rollout;
}
