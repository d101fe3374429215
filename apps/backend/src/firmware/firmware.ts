import { isoTime, type Clock } from '@station/kit/clock';
import { parseFirmwareName } from '@station/protocol/firmware';
import { targetStates, type Rollout, type RolloutTarget, type TargetState } from '@station/protocol/firmware-rollouts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { SocketHub } from '../socket/hub.ts';
import type { LoggedReports } from '../store/logged-reports.ts';
import type { Database } from '../store/schema.ts';
import { createImageStore, type FirmwareImage, type ImageStore } from './image-store.ts';
import { defaultSettings, waveLimits } from './rollout-decide.ts';
import type { Target } from './target-decide.ts';
import { createRolloutStore, type RolloutRecord, type RolloutStore } from './rollout-store.ts';
import { startRollouts, type RolloutChange, type Rollouts } from './rollouts.ts';
import type { Commands } from '../core/commands.ts';

export type Firmware = AsyncDisposable & {
  images: ImageStore;
  store: RolloutStore;
  rollouts: Rollouts;
  /** Path at which the reverse proxy serves an image. */
  pathOf(image: FirmwareImage): string;
};

/** Firmware of devices: the images and their rollouts. Changes are broadcast at /ws. */
export function startFirmware(parts: {
  config: FirmwareConfig;
  /** The reverse proxy as the local network sees it, without a slash at the end. */
  publicUrl: () => Promise<string>;
  db: Database;
  /** What is newer than the tables; unset: nothing. */
  logged?: Pick<LoggedReports, 'over'>;
  hub: Pick<SocketHub, 'broadcast'>;
  events: DeviceEvents;
  commands: Pick<Commands, 'send'>;
  clock: Clock;
  logger: BackendLogger;
  isLeader?: () => boolean;
}): Firmware {
  const { config, db, logged, hub, clock, ...others } = parts;
  const { soakMs, concurrency, startsPerMinute, attempts: maxFailures } = config;
  const images = createImageStore({ db, clock });
  const store = createRolloutStore({ db, logged, clock });
  const pathOf = ({ path, file }: FirmwareImage): string => path ?? `${config.folder}/${file}`;
  const rollouts = startRollouts({
    ...others,
    store,
    images,
    clock,
    settings: { ...defaultSettings, soakMs, concurrency, startsPerMinute, maxFailures },
    urlOf: async (image) => `${await parts.publicUrl()}${pathOf(image)}`,
    onChange: (change) => broadcast(hub, change, clock.now()),
  });
  return {
    images,
    store,
    rollouts,
    pathOf,
    [Symbol.asyncDispose]: async () => rollouts[Symbol.asyncDispose](),
  };
}

function broadcast(hub: Pick<SocketHub, 'broadcast'>, { rollout, targets, changed }: RolloutChange, now: number): void {
  const message = { type: 'firmware_rollout', at: isoTime(now), rollout: toRollout(rollout, targets) } as const;
  if (changed.length === 0) hub.broadcast({ ...message, target: null }, `firmware_rollout ${rollout.id}`);
  for (const target of changed) {
    const key = `firmware_rollout ${rollout.id} ${target.deviceId}`;
    hub.broadcast({ ...message, target: toRolloutTarget(target) }, key);
  }
}

/** A rollout in the form of REST and /ws. */
export function toRollout(rollout: RolloutRecord, targets: readonly Target[]): Rollout {
  const { id, name, version, state, wave, reason, requestedBy, createdAt, endedAt } = rollout;
  const { type, chip } = parseFirmwareName(name);
  const count = (wanted: TargetState): number => targets.filter((target) => target.state === wanted).length;
  return {
    id,
    type,
    ...(chip === null ? {} : { chip }),
    version,
    state,
    wave,
    waves: waveLimits(rollout.settings, targets.length).length,
    reason,
    requestedBy,
    createdAt: isoTime(createdAt),
    endedAt: endedAt === null ? null : isoTime(endedAt),
    devices: Object.fromEntries(targetStates.map((wanted) => [wanted, count(wanted)])) as Rollout['devices'],
  };
}

export function toRolloutTarget(target: Target): RolloutTarget {
  const { deviceId, state, phase, percent, wave, failures, reason, changedAt } = target;
  return { deviceId, state, phase, percent, wave, failures, reason, changedAt: isoTime(changedAt) };
}

export type FirmwareConfig = {
  /** PUBLIC_URL without a slash at the end. */
  publicUrl: string;
  /** Path at the reverse proxy where devices fetch their firmware. */
  folder: string;
  /** How long a wave must be stable before the next begins. */
  soakMs: number;
  /** Devices that update at the same time. */
  concurrency: number;
  /** Devices of one rollout that are started within a minute. */
  startsPerMinute: number;
  /** Failed attempts after which a device gets no further one. */
  attempts: number;
};
