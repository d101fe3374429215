import type { RolloutState, TargetPhase, TargetState } from '@station/protocol/firmware-rollouts';
import { compareVersions, isNewer, parseVersion } from '@station/protocol/version';

/**
 * How firmware reaches the devices of a type: a canary first, then waves, each after the previous one proved stable. Pure: the next state
 * follows from records, device reports and time, so a crash in between leads to the same result.
 */

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

export const defaultSettings: RolloutSettings = {
  canary: 1,
  waves: [0.1, 0.5, 1],
  concurrency: 10,
  startsPerMinute: 60,
  soakMs: 60_000,
  maxFailures: 2,
  maxInterruptions: 50,
  stopAtFailures: 3,
  stopAtFailedShare: 0.1,
};

export type Rollout = {
  id: string;
  type: string;
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

/** Facts from the device records. */
export type DeviceFacts = {
  isOnline: boolean;
  firmwareVersion: string | null;
  chip: string | null;
  lastSeenAt: number | null;
};

/** Requirements of an image. */
export type ImageFacts = { version: string; chip: string | null; min_version: string | null };

/** How long each phase may take without a report, milliseconds. Devices report progress every few percent. */
export const silenceLimits: Readonly<Record<TargetPhase, number>> = {
  offered: 30_000,
  accepted: 300_000,
  downloading: 45_000,
  installing: 50_000,
};
/** An interrupted device that is offline for longer gives its place in the wave to another. */
export const placeKeptMs = 180_000;
const minuteMs = 60_000;
const firstPauseMs = 5_000;
const longestPauseMs = 600_000;
/** More handshakes during the soak time mean that the firmware restarts in a loop. */
export const maxHandshakes = 3;
/** A share of fewer devices is not meaningful. */
const shareCountsFrom = 10;

/** A device report about its update. */
export type UpdateReport =
  | { kind: 'handshake'; firmwareVersion: string; at: number }
  | { kind: 'progress'; percent: number; at: number }
  | { kind: 'error'; reason: string; at: number }
  /** The device asked over HTTP, and runs this version. */
  | { kind: 'asked'; firmwareVersion: string; at: number }
  | { kind: 'accepted'; at: number }
  | { kind: 'not_sent'; reason: string; at: number };

/** Applies a device report to a target. */
export function applyReport(rollout: Rollout, target: Target, report: UpdateReport): Target {
  const changed = { ...target, changedAt: report.at };
  switch (report.kind) {
    case 'handshake':
      if (isSame(report.firmwareVersion, rollout.version)) return applyNewVersion(rollout, target, report.at);
      return applyOtherVersion(rollout, changed, report.firmwareVersion, report.at);
    case 'progress':
      // A device that this rollout did not start installs the version of another rollout.
      if (target.startedAt === null || (target.state !== 'updating' && target.state !== 'waiting')) return target;
      return {
        ...changed,
        state: 'updating',
        phase: report.percent >= 100 ? 'installing' : 'downloading',
        percent: report.percent,
        reason: null,
      };
    case 'error':
      return target.state === 'updating' ? fail(rollout, changed, report.reason, report.at) : target;
    case 'asked': {
      const hasRestarted = target.phase === 'installing' && !isSame(report.firmwareVersion, rollout.version);
      return hasRestarted ? applyOtherVersion(rollout, changed, report.firmwareVersion, report.at) : target;
    }
    case 'accepted':
      return target.state === 'updating' && target.phase === 'offered' ? { ...changed, phase: 'accepted' } : target;
    case 'not_sent':
      return target.state === 'updating' && target.phase === 'offered'
        ? interrupt(rollout, changed, report.reason, report.at)
        : target;
  }
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
  // A sleeping device did not receive the command; now it is awake, and not for long.
  return target.phase === 'offered' ? { ...interrupted, notBefore: at } : interrupted;
}

const updated = (target: Target): Target => ({
  ...target,
  state: 'updated',
  phase: null,
  percent: null,
  handshakes: 0,
  reason: null,
});

function fail({ settings }: Rollout, target: Target, reason: string, now: number): Target {
  const failures = target.failures + 1;
  const isOver = failures >= settings.maxFailures;
  const next = { ...target, phase: null, percent: null, failures, reason, notBefore: now + firstPauseMs };
  return { ...next, state: isOver ? 'failed' : 'waiting' };
}

function interrupt({ settings }: Rollout, target: Target, reason: string, now: number): Target {
  const interruptions = target.interruptions + 1;
  if (interruptions >= settings.maxInterruptions) {
    return { ...target, state: 'failed', phase: null, percent: null, interruptions, reason };
  }
  // After one interruption a device retries soon; after repeated ones it must not block others.
  const pauseMs = Math.min(longestPauseMs, firstPauseMs * 2 ** Math.max(0, interruptions - 5));
  return { ...target, state: 'waiting', phase: null, interruptions, reason, notBefore: now + pauseMs };
}

export type RolloutFacts = {
  rollout: Rollout;
  targets: readonly Target[];
  devices: ReadonlyMap<string, DeviceFacts>;
  /** Devices that another rollout is updating. */
  busy: ReadonlySet<string>;
  /** Since when the station receives messages of its devices: earlier ones may be lost. */
  listeningSince: number;
  now: number;
};

export type Decision = {
  rollout: Rollout;
  /** All targets, in their next state. */
  targets: Target[];
  /** Devices to send the command to, once this is on disk. */
  offers: string[];
};

/** The next state of a rollout. */
export function decide(facts: RolloutFacts): Decision {
  const targets = facts.targets.map((target) => checkTarget(facts, target));
  const after = { ...facts, targets };
  const rollout = nextRollout(after);
  if (rollout.state === 'paused' || rollout.state === 'waiting_approval') return { rollout, targets, offers: [] };
  if (rollout.state !== 'running') return { rollout, targets: targets.map(skipIfWaiting), offers: [] };
  const startable = new Set(chooseStarts({ ...after, rollout }));
  return {
    rollout,
    offers: [...startable],
    targets: targets.map((target) =>
      startable.has(target.deviceId) ? start(target, rollout.wave, facts.now) : target,
    ),
  };
}

const skipIfWaiting = (target: Target): Target =>
  target.state === 'waiting' ? { ...target, state: 'skipped', phase: null, percent: null } : target;

const start = (target: Target, wave: number, now: number): Target => ({
  ...target,
  state: 'updating',
  phase: 'offered',
  percent: null,
  wave: target.wave ?? wave,
  startedAt: now,
  changedAt: now,
});

/** State of a target without a report: it has the version, or was silent for too long. */
function checkTarget({ rollout, devices, listeningSince, now }: RolloutFacts, target: Target): Target {
  const device = devices.get(target.deviceId);
  if (device === undefined || (target.state !== 'updating' && target.state !== 'waiting')) return target;
  if (isSame(device.firmwareVersion, rollout.version)) return { ...updated(target), changedAt: now };
  if (target.phase === null) {
    const lastReportAt = Math.max(target.changedAt, device.lastSeenAt ?? 0, listeningSince);
    return !device.isOnline && now - lastReportAt >= placeKeptMs ? { ...target, wave: null } : target;
  }
  // A silent device may still be downloading and gets time; an offline one is not downloading.
  const phase = target.phase === 'accepted' && !device.isOnline ? 'downloading' : target.phase;
  if (now - Math.max(target.changedAt, listeningSince) < silenceLimits[phase]) return target;
  if (target.phase !== 'installing') return interrupt(rollout, target, 'It sent no report for too long.', now);
  // The device should have restarted. If it sends messages, it did not; if it is silent, its next report decides.
  const isReporting = device.isOnline && (device.lastSeenAt ?? 0) > target.changedAt;
  if (isReporting) return fail(rollout, target, 'It did not start with the new firmware.', now);
  return { ...target, state: 'waiting', reason: 'It has not come back yet.' };
}

/** Whether the rollout goes on, and in which wave it is. */
function nextRollout({ rollout, targets, now }: RolloutFacts): Rollout {
  if (rollout.state !== 'running') return rollout;
  const count = (state: TargetState): number => targets.filter((target) => target.state === state).length;
  const [failed, done] = [count('failed'), count('updated')];
  const { stopAtFailures, stopAtFailedShare, soakMs } = rollout.settings;
  const stop = (reason: string): Rollout => ({ ...rollout, state: 'stopped', reason });
  const canary = targets.find((target) => target.wave === 0 && target.state === 'failed');
  if (canary !== undefined) return stop(`The first device failed: ${canary.reason ?? ''}`.trim());
  if (failed >= stopAtFailures) return stop(`${failed} devices failed.`);
  const tried = failed + done;
  if (tried >= shareCountsFrom && failed / tried >= stopAtFailedShare)
    return stop(`${failed} of ${tried} devices failed.`);
  if (tried + count('skipped') === targets.length) return { ...rollout, state: 'done' };
  const limits = waveLimits(rollout.settings, targets.length);
  const isLast = rollout.wave >= limits.length - 1;
  const isStable = targets.every(({ state, changedAt }) => state !== 'updated' || now - changedAt >= soakMs);
  const isFull = tried >= (limits[rollout.wave] ?? targets.length);
  return isFull && isStable && !isLast ? { ...rollout, wave: rollout.wave + 1 } : rollout;
}

/** How many devices may have been started by the end of each wave. */
export function waveLimits({ canary, waves }: RolloutSettings, total: number): number[] {
  const limits = [Math.min(canary, total)];
  for (const share of waves) {
    const limit = Math.ceil(share * total);
    if (limit > (limits.at(-1) as number)) limits.push(limit);
  }
  if (limits.at(-1) !== total) limits.push(total);
  return limits;
}

/** Devices to start now: online, due, and within wave, concurrency and rate. Those with the fewest failures first. */
function chooseStarts({ rollout, targets, devices, busy, now }: RolloutFacts): string[] {
  const { settings, wave } = rollout;
  const inFlight = targets.filter(({ state }) => state === 'updating').length;
  const startedLately = targets.filter(({ startedAt }) => startedAt !== null && now - startedAt < minuteMs).length;
  const room = Math.max(0, Math.min(settings.concurrency - inFlight, settings.startsPerMinute - startedLately));
  const begun = targets.filter(({ wave: own }) => own !== null).length;
  let fresh = (waveLimits(settings, targets.length)[wave] ?? targets.length) - begun;
  const due = targets
    .filter(({ state, phase, notBefore }) => state === 'waiting' && phase !== 'installing' && notBefore <= now)
    .filter(({ deviceId }) => devices.get(deviceId)?.isOnline === true && !busy.has(deviceId))
    .sort((a, b) => setbacks(a) - setbacks(b));
  // A device that was started before may continue in any wave; others take a place in this one.
  return due
    .filter(({ wave: own }) => own !== null || (fresh -= 1) >= 0)
    .slice(0, room)
    .map(({ deviceId }) => deviceId);
}

const setbacks = ({ failures, interruptions }: Target): number => failures * 100 + interruptions;

/** Whether the device can take the image. Downgrades only on request. Pure. */
export function isWanted(
  image: ImageFacts,
  device: Pick<DeviceFacts, 'firmwareVersion' | 'chip'>,
  isOnRequest: boolean,
): boolean {
  const { version, chip, min_version: minVersion } = image;
  const { firmwareVersion: current } = device;
  if (isSame(current, version)) return false;
  if (chip !== null && device.chip !== null && normalizeChip(chip) !== normalizeChip(device.chip)) return false;
  if (minVersion !== null && isNewer(minVersion, current)) return false;
  return isOnRequest || isNewer(version, current);
}

/** ESP32-S3 and esp32s3 are one chip. */
const normalizeChip = (chip: string): string => chip.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Build metadata does not make another version. */
function isSame(a: string | null, b: string): boolean {
  if (a === null) return false;
  const [left, right] = [parseVersion(a), parseVersion(b)];
  return left !== null && right !== null ? compareVersions(left, right) === 0 : a === b;
}
