import { Type, type Static } from 'typebox';
import { Nullable } from './nullable.ts';
import { Id, Time } from './rest.ts';

/** Bodies of /api/firmware and /api/firmware/rollouts (contracts, section 9), and messages about rollouts on /ws. */

const closed = { additionalProperties: false } as const;
const Version = Type.String({ minLength: 1, maxLength: 128, description: 'SemVer.' });
const DeviceType = Type.String({ minLength: 1, maxLength: 128 });
const Chip = Type.String({ minLength: 1, maxLength: 32, description: 'For example esp32c3.' });

export const rolloutStates = [
  'waiting_approval',
  'running',
  'paused',
  'done',
  'stopped',
  'aborted',
  'superseded',
] as const;
export type RolloutState = (typeof rolloutStates)[number];

/** `waiting`: also while a device sleeps. `skipped`: the rollout ended before its turn. */
export const targetStates = ['waiting', 'updating', 'updated', 'failed', 'skipped'] as const;
export type TargetState = (typeof targetStates)[number];

const targetPhases = ['offered', 'accepted', 'downloading', 'installing'] as const;
export type TargetPhase = (typeof targetPhases)[number];

export const RolloutTarget = Type.Object({
  deviceId: Id,
  state: Type.Enum([...targetStates]),
  phase: Nullable(Type.Enum([...targetPhases])),
  percent: Nullable(
    Type.Integer({ minimum: 0, maximum: 100, description: 'Progress of the download, as the device reports it.' }),
  ),
  wave: Nullable(Type.Integer({ description: '0 is the canary; null before its turn.' })),
  failures: Type.Integer({ description: 'Failed attempts: refused images and returns to the previous version.' }),
  reason: Nullable(Type.String({ description: 'In English, when it failed or was interrupted.' })),
  changedAt: Time,
});
export type RolloutTarget = Static<typeof RolloutTarget>;

const counts = Object.fromEntries(targetStates.map((state) => [state, Type.Integer({ minimum: 0 })])) as Record<
  TargetState,
  ReturnType<typeof Type.Integer>
>;

export const Rollout = Type.Object({
  id: Id,
  type: DeviceType,
  chip: Type.Optional(Chip),
  version: Version,
  state: Type.Enum([...rolloutStates]),
  wave: Type.Integer({ description: '0 is the canary.' }),
  waves: Type.Integer({ description: 'Number of waves for its present devices, the canary included.' }),
  reason: Nullable(Type.String({ description: 'Why it was stopped or superseded, in English.' })),
  requestedBy: Nullable(Id),
  createdAt: Time,
  endedAt: Nullable(Time),
  devices: Type.Object(counts, { description: 'How many devices are in each state.' }),
});
export type Rollout = Static<typeof Rollout>;

/** GET /api/firmware/rollouts (user), newest first, at most 50; GET /:id (user) → RolloutDetails. */
export const Rollouts = Type.Array(Rollout);
export const RolloutDetails = Type.Object({ ...Rollout.properties, targets: Type.Array(RolloutTarget) });
export type RolloutDetails = Static<typeof RolloutDetails>;

/**
 * POST /api/firmware/rollouts (station role admin) → 201 RolloutDetails. The version may also be older than the installed one, or have
 * failed before. Without `chip` it goes to all devices of the type; images for several chips then have a rollout each, and the answer is
 * the first of them. POST /:id/{approve,pause,resume,abort} (station role admin) → Rollout.
 * Errors: 404 not_found (no such image, no such rollout), 409 conflict (no device needs it; its file is missing; not possible in this state).
 */
export const NewRollout = Type.Object({ type: DeviceType, version: Version, chip: Type.Optional(Chip) }, closed);
export type NewRollout = Static<typeof NewRollout>;
export const rolloutActions = ['approve', 'pause', 'resume', 'abort'] as const;
export type RolloutAction = (typeof rolloutActions)[number];

/** GET /api/firmware (user): one entry for each device type that has a firmware or a device. */
export const Firmware = Type.Object({
  type: DeviceType,
  images: Type.Array(
    Type.Object({
      version: Version,
      size: Type.Integer({ description: 'Bytes; of several files, the largest.' }),
      readyAt: Time,
      chips: Type.Optional(Type.Array(Chip, { description: 'Chips that have a file of their own.' })),
    }),
    { description: 'Versions that can be installed, newest first. Versions with a missing file are left out.' },
  ),
  installed: Type.Array(Type.Object({ version: Nullable(Version), devices: Type.Integer() }), {
    description: 'How many devices run which version; null: not known yet.',
  }),
});
export type Firmware = Static<typeof Firmware>;
export const FirmwareList = Type.Array(Firmware);

/** A rollout or one of its devices changed. */
export const FirmwareRolloutMessage = Type.Object({
  type: Type.Literal('firmware_rollout'),
  at: Time,
  rollout: Rollout,
  target: Nullable(RolloutTarget),
});
export type FirmwareRolloutMessage = Static<typeof FirmwareRolloutMessage>;
