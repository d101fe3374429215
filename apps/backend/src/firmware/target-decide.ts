import type { RolloutState, TargetPhase, TargetState } from '@station/protocol/firmware-rollouts';
import { compareVersions, parseVersion } from '@station/protocol/version';

/** What a device says about its update, and what that changes. Pure. */

export type RolloutSettings = {
  /** How many devices the first wave has. */
  canary: number;
  /** Shares of all devices that may have been started by the end of each wave after it; the last is 1. */
  waves: readonly number[];
  /** Devices that update at the same time. */
  concurrency: number;
  startsPerMinute: number;
  /** How long a wave must be stable before the next begins. */
  soakMs: number;
  /** Failed attempts after which a device gets no further one: repeated flashing wears it out. */
  maxFailures: number;
  /** Interrupted downloads. They only cost time. */
  maxInterruptions: number;
  /** Failed devices that stop the rollout: this number, or this share of at least ten. One failed canary always stops it. */
  stopAtFailures: number;
  stopAtFailedShare: number;
};

export type Rollout = {
  id: string;
  /** Of the firmware: `<type>` or `<chip>-<type>`. */
  name: string;
  version: string;
  state: RolloutState;
  settings: RolloutSettings;
  /** 0: the canary. */
  wave: number;
  reason: string | null;
};

export type Target = {
  deviceId: string;
  state: TargetState;
  /** Current phase; for a waiting device, the phase at its last report. */
  phase: TargetPhase | null;
  percent: number | null;
  /** The wave in which it has a place. */
  wave: number | null;
  failures: number;
  interruptions: number;
  /** Number of further handshakes since it has the version, during the soak time. */
  handshakes: number;
  reason: string | null;
  /** Not to be started before; milliseconds since the epoch. */
  notBefore: number;
  /** When it was last started. */
  startedAt: number | null;
  /** Time of its last report about the update. */
  changedAt: number;
};

export const newTarget = (deviceId: string, now: number): Target => ({
  deviceId,
  state: 'waiting',
  phase: null,
  percent: null,
  wave: null,
  failures: 0,
  interruptions: 0,
  handshakes: 0,
  reason: null,
  notBefore: 0,
  startedAt: null,
  changedAt: now,
});

export const firstPauseMs = 5_000;
const longestPauseMs = 600_000;
/** More handshakes during the soak time mean that the firmware restarts in a loop. */
export const maxHandshakes = 3;

/** A device that asks for firmware at its start also connects to the broker, and then sends a handshake. */
const startMs = 15_000;
/** So often a device without a word about the update is told of it at once when it is back: it may have slept. */
const quickOffers = 3;
/** A device that restarts so often without a word may install the image each time, and fall back from it. */
const maxSilentRestarts = 15;

/** A device report about its update. */
export type UpdateReport =
  | { kind: 'handshake'; firmwareVersion: string; at: number }
  | { kind: 'progress'; percent: number; at: number }
  | { kind: 'error'; reason: string; at: number }
  /** The device asked over HTTP, and runs this version. */
  | { kind: 'asked'; firmwareVersion: string; at: number }
  /** The result that the device reported over HTTP. */
  | { kind: 'result'; status: 'success' | 'failed'; at: number }
  | { kind: 'accepted'; at: number }
  /** The station gave it the image over HTTP. */
  | { kind: 'given'; at: number }
  | { kind: 'not_sent'; reason: string; at: number };

/** Applies a device report to a target. */
export function applyReport(rollout: Rollout, target: Target, report: UpdateReport): Target {
  const changed = { ...target, changedAt: report.at };
  switch (report.kind) {
    case 'handshake':
      if (isSame(report.firmwareVersion, rollout.version)) return applyNewVersion(rollout, target, report.at);
      if (hasJustAsked(target, report.at)) return target;
      return applyOtherVersion(rollout, changed, report.firmwareVersion, report.at);
    case 'progress':
      return applyProgress(changed, target, report.percent);
    case 'error':
      return target.state === 'updating' ? fail(rollout, changed, report.reason, report.at) : target;
    case 'asked':
      // Not a success yet: that is its handshake with the new version.
      if (isSame(report.firmwareVersion, rollout.version)) return applyProgress(changed, target, 100);
      // It asks at its start, so it was interrupted.
      if (target.phase === null || target.phase === 'offered') return target;
      return applyOtherVersion(rollout, changed, report.firmwareVersion, report.at);
    case 'result':
      if (report.status === 'success') return applyProgress(changed, target, 100);
      // It may have been silent for long before it reported this: then it counts as interrupted.
      return target.state === 'updating' || target.state === 'waiting'
        ? fail(rollout, changed, 'The device reported that the update failed.', report.at)
        : target;
    case 'given':
      return target.state === 'updating' && target.phase === 'offered'
        ? { ...changed, phase: 'accepted', percent: 0 }
        : target;
    case 'accepted':
      return target.state === 'updating' && target.phase === 'offered' ? { ...changed, phase: 'accepted' } : target;
    case 'not_sent':
      return target.state === 'updating' && target.phase === 'offered'
        ? interrupt(rollout, changed, report.reason, report.at)
        : target;
  }
}

/** A device that this rollout did not start installs the version of another rollout. */
function applyProgress(changed: Target, target: Target, percent: number): Target {
  if (target.startedAt === null || (target.state !== 'updating' && target.state !== 'waiting')) return target;
  const phase = percent >= 100 ? 'installing' : 'downloading';
  return { ...changed, state: 'updating', phase, percent, reason: null };
}

/** Each connect causes a handshake. A device is stable since it first had the version, unless it reconnects too often. */
function applyNewVersion(rollout: Rollout, target: Target, at: number): Target {
  const failedInLoop = target.state === 'failed' && target.handshakes > maxHandshakes;
  if (failedInLoop) return target;
  if (target.state !== 'updated') return { ...updated(target), changedAt: at };
  if (at - target.changedAt >= rollout.settings.soakMs) return target;
  const counted = { ...target, handshakes: target.handshakes + 1 };
  if (counted.handshakes <= maxHandshakes) return counted;
  return fail(rollout, { ...counted, changedAt: at }, 'It started again and again with the new firmware.', at);
}

function applyOtherVersion(rollout: Rollout, target: Target, version: string, at: number): Target {
  const fellBack = `It started with ${version} again: the new firmware did not hold.`;
  // Also after its handshake with the new version: its power may have failed before it kept that version.
  if (target.state === 'updated') return fail(rollout, target, fellBack, at);
  if (target.state === 'failed' || target.state === 'skipped') return target;
  if (target.phase === 'installing') return fail(rollout, target, fellBack, at);
  if (target.state !== 'updating') return target;
  const interrupted = interrupt(rollout, target, 'It was interrupted.', at);
  if (target.phase !== 'offered') return interrupted;
  if (interrupted.interruptions >= maxSilentRestarts) {
    return { ...interrupted, state: 'failed', reason: 'It restarted again and again without the new firmware.' };
  }
  // A sleeping device did not receive the command; now it is awake, and not for long.
  return interrupted.interruptions <= quickOffers ? { ...interrupted, notBefore: at } : interrupted;
}

/** Only an image given over HTTP is accepted at 0 %. */
const hasJustAsked = ({ state, phase, percent, changedAt }: Target, at: number): boolean =>
  state === 'updating' && phase === 'accepted' && percent === 0 && at - changedAt < startMs;

export const updated = (target: Target): Target => ({
  ...target,
  state: 'updated',
  phase: null,
  percent: null,
  handshakes: 0,
  reason: null,
});

export function fail({ settings }: Rollout, target: Target, reason: string, now: number): Target {
  const failures = target.failures + 1;
  const isOver = failures >= settings.maxFailures;
  const next = { ...target, phase: null, percent: null, failures, reason, notBefore: now + firstPauseMs };
  return { ...next, state: isOver ? 'failed' : 'waiting' };
}

export function interrupt({ settings }: Rollout, target: Target, reason: string, now: number): Target {
  const interruptions = target.interruptions + 1;
  if (interruptions >= settings.maxInterruptions) {
    return { ...target, state: 'failed', phase: null, percent: null, interruptions, reason };
  }
  // After one interruption a device retries soon; after repeated ones it must not block others.
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, interruptions - 5));
  return { ...target, state: 'waiting', phase: null, interruptions, reason, notBefore: now + pauseMs };
}

/** Build metadata does not make another version. */
export function isSame(a: string | null, b: string): boolean {
  if (a === null) return false;
  const left = parseVersion(a);
  const right = parseVersion(b);
  return left !== null && right !== null ? compareVersions(left, right) === 0 : a === b;
}
