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
  /** Images that a device may refuse or fall back from before it is left alone: a loop of flashing wears it out. */
  maxFailures: number;
  /** Cut downloads, which cost nothing but time. */
  maxInterruptions: number;
  /** Failed devices that stop the rollout: so many, or this share of at least ten. One failed canary always does. */
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
  /** How far it is; of a waiting one, how far it was when it was last heard. */
  phase: TargetPhase | null;
  percent: number | null;
  /** The wave it has a place in. */
  wave: number | null;
  failures: number;
  interruptions: number;
  /** Number of further handshakes since it has the version, during the soak time. */
  greetings: number;
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
export const maxGreetings = 3;
/** A share of fewer devices is not meaningful. */
const shareCountsFrom = 10;

/** A device report about its update. */
export type DeviceWord =
  | { kind: 'handshake'; firmwareVersion: string; at: number }
  | { kind: 'progress'; percent: number; at: number }
  | { kind: 'error'; reason: string; at: number }
  /** It asked over HTTP, running this version. */
  | { kind: 'asked'; firmwareVersion: string; at: number }
  | { kind: 'accepted'; at: number }
  | { kind: 'not_sent'; reason: string; at: number };

/** Applies a device report to a target. */
export function hear(rollout: Rollout, target: Target, word: DeviceWord): Target {
  const heard = { ...target, changedAt: word.at };
  switch (word.kind) {
    case 'handshake':
      if (isSame(word.firmwareVersion, rollout.version)) return hearSuccess(rollout, target, word.at);
      return hearHandshake(rollout, heard, word.firmwareVersion, word.at);
    case 'progress':
      // One that was not started here is at another rollout's version.
      if (target.startedAt === null || (target.state !== 'updating' && target.state !== 'waiting')) return target;
      return {
        ...heard,
        state: 'updating',
        phase: word.percent >= 100 ? 'installing' : 'downloading',
        percent: word.percent,
        reason: null,
      };
    case 'error':
      return target.state === 'updating' ? fail(rollout, heard, word.reason, word.at) : target;
    case 'asked': {
      const isBack = target.phase === 'installing' && !isSame(word.firmwareVersion, rollout.version);
      return isBack ? hearHandshake(rollout, heard, word.firmwareVersion, word.at) : target;
    }
    case 'accepted':
      return target.state === 'updating' && target.phase === 'offered' ? { ...heard, phase: 'accepted' } : target;
    case 'not_sent':
      return target.state === 'updating' && target.phase === 'offered'
        ? interrupt(rollout, heard, word.reason, word.at)
        : target;
  }
}

/** Each connect causes a handshake. A device is stable since it first had the version, unless it reconnects too often. */
function hearSuccess(rollout: Rollout, target: Target, at: number): Target {
  const hasLoopedOut = target.state === 'failed' && target.greetings > maxGreetings;
  if (hasLoopedOut) return target;
  if (target.state !== 'updated') return { ...updated(target), changedAt: at };
  if (at - target.changedAt >= rollout.settings.soakMs) return target;
  const greeted = { ...target, greetings: target.greetings + 1 };
  if (greeted.greetings <= maxGreetings) return greeted;
  return fail(rollout, { ...greeted, changedAt: at }, 'It started again and again with the new firmware.', at);
}

function hearHandshake(rollout: Rollout, target: Target, version: string, at: number): Target {
  const fellBack = `It started with ${version} again: the new firmware did not hold.`;
  // Also when it was heard with the new one before: its power may have gone before it knew that it was heard.
  if (target.state === 'updated') return fail(rollout, target, fellBack, at);
  if (target.state === 'failed' || target.state === 'skipped') return target;
  if (target.phase === 'installing') return fail(rollout, target, fellBack, at);
  if (target.state !== 'updating') return target;
  const interrupted = interrupt(rollout, target, 'It was interrupted.', at);
  // One that sleeps has not heard the command; now it is awake, and not for long.
  return target.phase === 'offered' ? { ...interrupted, notBefore: at } : interrupted;
}

const updated = (target: Target): Target => ({
  ...target,
  state: 'updated',
  phase: null,
  percent: null,
  greetings: 0,
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
  /** All of them, as they are from now on. */
  targets: Target[];
  /** Whom to send the command, once this is on disk. */
  offers: string[];
};

/** The next state of a rollout. */
export function decide(facts: RolloutFacts): Decision {
  const targets = facts.targets.map((target) => look(facts, target));
  const after = { ...facts, targets };
  const rollout = judge(after);
  if (rollout.state === 'paused' || rollout.state === 'waiting_approval') return { rollout, targets, offers: [] };
  if (rollout.state !== 'running') return { rollout, targets: targets.map(leave), offers: [] };
  const startable = new Set(choose({ ...after, rollout }));
  return {
    rollout,
    offers: [...startable],
    targets: targets.map((target) =>
      startable.has(target.deviceId) ? start(target, rollout.wave, facts.now) : target,
    ),
  };
}

const leave = (target: Target): Target =>
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
function look({ rollout, devices, listeningSince, now }: RolloutFacts, target: Target): Target {
  const device = devices.get(target.deviceId);
  if (device === undefined || (target.state !== 'updating' && target.state !== 'waiting')) return target;
  if (isSame(device.firmwareVersion, rollout.version)) return { ...updated(target), changedAt: now };
  if (target.phase === null) {
    const heardAt = Math.max(target.changedAt, device.lastSeenAt ?? 0, listeningSince);
    return !device.isOnline && now - heardAt >= placeKeptMs ? { ...target, wave: null } : target;
  }
  // A silent device may still be downloading and gets time; an offline one is not downloading.
  const phase = target.phase === 'accepted' && !device.isOnline ? 'downloading' : target.phase;
  if (now - Math.max(target.changedAt, listeningSince) < silenceLimits[phase]) return target;
  if (target.phase !== 'installing') return interrupt(rollout, target, 'Nothing was heard of it for too long.', now);
  // The device should have restarted. If it sends messages, it did not; if it is silent, its next report decides.
  const hasSpoken = device.isOnline && (device.lastSeenAt ?? 0) > target.changedAt;
  if (hasSpoken) return fail(rollout, target, 'It did not start with the new firmware.', now);
  return { ...target, state: 'waiting', reason: 'It has not come back yet.' };
}

/** Whether the rollout goes on, and in which wave it is. */
function judge({ rollout, targets, now }: RolloutFacts): Rollout {
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
  const hasStood = targets.every(({ state, changedAt }) => state !== 'updated' || now - changedAt >= soakMs);
  const isFull = tried >= (limits[rollout.wave] ?? targets.length);
  return isFull && hasStood && !isLast ? { ...rollout, wave: rollout.wave + 1 } : rollout;
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
function choose({ rollout, targets, devices, busy, now }: RolloutFacts): string[] {
  const { settings, wave } = rollout;
  const inFlight = targets.filter(({ state }) => state === 'updating').length;
  const lately = targets.filter(({ startedAt }) => startedAt !== null && now - startedAt < minuteMs).length;
  const room = Math.max(0, Math.min(settings.concurrency - inFlight, settings.startsPerMinute - lately));
  const begun = targets.filter(({ wave: own }) => own !== null).length;
  let fresh = (waveLimits(settings, targets.length)[wave] ?? targets.length) - begun;
  const due = targets
    .filter(({ state, phase, notBefore }) => state === 'waiting' && phase !== 'installing' && notBefore <= now)
    .filter(({ deviceId }) => devices.get(deviceId)?.isOnline === true && !busy.has(deviceId))
    .sort((a, b) => trouble(a) - trouble(b));
  // Who was begun before may go on in any wave; who was not takes a place in this one.
  return due
    .filter(({ wave: own }) => own !== null || (fresh -= 1) >= 0)
    .slice(0, room)
    .map(({ deviceId }) => deviceId);
}

const trouble = ({ failures, interruptions }: Target): number => failures * 100 + interruptions;

/** Whether the image is one for the device. Downgrades only when they were asked for. Pure. */
export function isWanted(
  image: ImageFacts,
  device: Pick<DeviceFacts, 'firmwareVersion' | 'chip'>,
  isOnRequest: boolean,
): boolean {
  const { version, chip, min_version: minVersion } = image;
  const { firmwareVersion: current } = device;
  if (isSame(current, version)) return false;
  if (chip !== null && device.chip !== null && plain(chip) !== plain(device.chip)) return false;
  if (minVersion !== null && isNewer(minVersion, current)) return false;
  return isOnRequest || isNewer(version, current);
}

/** ESP32-S3 and esp32s3 are one chip. */
const plain = (chip: string): string => chip.toLowerCase().replaceAll(/[^a-z0-9]/g, '');

/** Build metadata does not make another version. */
function isSame(a: string | null, b: string): boolean {
  if (a === null) return false;
  const [left, right] = [parseVersion(a), parseVersion(b)];
  return left !== null && right !== null ? compareVersions(left, right) === 0 : a === b;
}
