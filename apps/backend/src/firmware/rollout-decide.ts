import { normalizeChip } from '@station/protocol/firmware-image';
import type { TargetPhase, TargetState } from '@station/protocol/firmware-rollouts';
import { isNewer } from '@station/protocol/version';
import {
  fail,
  firstPauseMs,
  interrupt,
  isSame,
  type Rollout,
  type RolloutSettings,
  type Target,
  updated,
} from './target-decide.ts';

/**
 * How firmware reaches the devices of a type: a canary first, then waves, each after the previous one proved stable. Pure: the next state
 * follows from records, device reports and time, so a crash in between leads to the same result.
 */

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

/** Facts from the device records. */
export type DeviceFacts = {
  isOnline: boolean;
  firmwareVersion: string | null;
  chip: string | null;
  lastSeenAt: number | null;
  /** Whether it gets the firmware of this name: another one may be for its chip, or its type was changed. */
  isServed: boolean;
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
/** A share of fewer devices is not meaningful. */
const shareCountsFrom = 10;

export type RolloutFacts = {
  rollout: Rollout;
  targets: readonly Target[];
  devices: ReadonlyMap<string, DeviceFacts>;
  /** Whether its image may start only when a person has approved it. */
  needsApproval: boolean;
  /** Devices that another rollout is updating. */
  busy: ReadonlySet<string>;
  /** Since when the station receives messages of its devices: earlier ones may be lost. */
  listeningSince: number;
  /** A device that asks over HTTP: it is awake, whether the broker knows it or not. */
  asking?: string | null;
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
  if (target.phase === null && !device.isServed) return { ...target, state: 'skipped', percent: null };
  if (target.phase === null) {
    const lastReportAt = Math.max(target.changedAt, device.lastSeenAt ?? 0, listeningSince);
    return !device.isOnline && now - lastReportAt >= placeKeptMs ? { ...target, wave: null } : target;
  }
  const phase = silentPhaseOf(target, device, listeningSince);
  if (now - Math.max(target.changedAt, listeningSince) < silenceLimits[phase]) return target;
  if (target.phase !== 'installing') return interrupt(rollout, target, 'It sent no report for too long.', now);
  // The device should have restarted. If it sends messages, it did not; if it is silent, its next report decides.
  const isReporting = device.isOnline && (device.lastSeenAt ?? 0) > target.changedAt;
  if (isReporting) return fail(rollout, target, 'It did not start with the new firmware.', now);
  return { ...target, state: 'waiting', reason: 'It has not come back yet.' };
}

/** What a target is taken to do while it does not report about the update. */
function silentPhaseOf(
  { phase, changedAt, startedAt }: Target,
  device: DeviceFacts,
  listeningSince: number,
): TargetPhase {
  // A silent device may still be downloading and gets time; an offline one is not downloading.
  if (phase === 'accepted') return device.isOnline ? 'accepted' : 'downloading';
  // Devices in the field accept the command without a word. Only a command of this process was sent for certain.
  const isHeard = device.isOnline && (device.lastSeenAt ?? 0) > changedAt;
  if (phase === 'offered' && isHeard && (startedAt ?? 0) >= listeningSince) return 'accepted';
  return phase ?? 'offered';
}

/** Whether the rollout goes on, and in which wave it is. */
function nextRollout({ rollout, targets, needsApproval, now }: RolloutFacts): Rollout {
  if (rollout.state === 'waiting_approval' && !needsApproval) return { ...rollout, state: 'running' };
  if (rollout.state !== 'running') return rollout;
  const count = (state: TargetState): number => targets.filter((target) => target.state === state).length;
  const failed = count('failed');
  const done = count('updated');
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
function chooseStarts({ rollout, targets, devices, busy, asking, now }: RolloutFacts): string[] {
  const { settings, wave } = rollout;
  const inFlight = targets.filter(({ state }) => state === 'updating').length;
  const startedLately = targets.filter(({ startedAt }) => startedAt !== null && now - startedAt < minuteMs).length;
  const room = Math.max(0, Math.min(settings.concurrency - inFlight, settings.startsPerMinute - startedLately));
  const begun = targets.filter(({ wave: own }) => own !== null).length;
  let fresh = (waveLimits(settings, targets.length)[wave] ?? targets.length) - begun;
  const due = targets
    .filter(({ state, phase }) => state === 'waiting' && phase !== 'installing')
    // A device that asks has made the short pause after a failure itself, by starting again.
    .filter(({ deviceId, notBefore }) => notBefore - (deviceId === asking ? firstPauseMs : 0) <= now)
    .filter(({ deviceId }) => deviceId === asking || devices.get(deviceId)?.isOnline === true)
    .filter(({ deviceId }) => !busy.has(deviceId))
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
  device: Pick<DeviceFacts, 'firmwareVersion' | 'chip' | 'isServed'>,
  isOnRequest: boolean,
): boolean {
  const { version, chip, min_version: minVersion } = image;
  const { firmwareVersion: current } = device;
  if (!device.isServed || isSame(current, version)) return false;
  if (chip !== null && device.chip !== null && normalizeChip(chip) !== normalizeChip(device.chip)) return false;
  if (minVersion !== null && isNewer(minVersion, current)) return false;
  return isOnRequest || isNewer(version, current);
}
