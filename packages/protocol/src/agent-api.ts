import { Type, type Static } from 'typebox';
import { Nullable } from './nullable.ts';

/** Bodies of the agent's HTTP API (specification, "Agent HTTP API"; contracts, section 4). */

const Time = Type.String({ description: 'ISO 8601, UTC, milliseconds.' });

export const operationKinds = ['update', 'rollback', 'bootstrap'] as const;
export const operationPhases = [
  'preparing',
  'pulling',
  'switching',
  'verifying',
  'reverting',
  'verifying_revert',
] as const;
export const triggers = ['automatic', 'manual', 'boot'] as const;
export type OperationKind = (typeof operationKinds)[number];
export type OperationPhase = (typeof operationPhases)[number];
export type Trigger = (typeof triggers)[number];

export const Health = Type.Object({
  ok: Type.Literal(true),
  service: Type.Literal('station-agent'),
  version: Type.String(),
  uptimeSeconds: Type.Number(),
});

export const Version = Type.Object({
  currentVersion: Nullable(Type.String()),
  latestVersion: Nullable(Type.String()),
  agentVersion: Type.String(),
});

export const Progress = Type.Object({
  doneBytes: Type.Number(),
  totalBytes: Nullable(Type.Number({ description: 'Null while the sizes are unknown.' })),
  percent: Nullable(Type.Number({ description: '0 to 100, weighted by bytes.' })),
});
export type Progress = Static<typeof Progress>;

export const Operation = Type.Object({
  id: Type.String(),
  kind: Type.Enum([...operationKinds]),
  phase: Type.Enum([...operationPhases]),
  trigger: Type.Enum([...triggers]),
  startedAt: Time,
  version: Nullable(Type.String({ description: 'The version that is being installed or restored.' })),
  progress: Progress,
  healthCheckUntil: Type.Optional(
    Type.Unsafe<string>({ ...Time, description: 'While health is checked: when it may pass at the earliest.' }),
  ),
});
export type Operation = Static<typeof Operation>;

/** Accompanies the agent's English reason, so that a page can translate it. */
const ReasonCode = Nullable(
  Type.String({ description: 'Stable code of the reason, e.g. release_unhealthy, image_missing.' }),
);

export const HistoryEntry = Type.Object({
  id: Type.String(),
  kind: Type.Enum([...operationKinds]),
  trigger: Type.Enum([...triggers]),
  result: Type.Enum(['updated', 'rolled_back', 'failed']),
  from: Nullable(Type.String()),
  to: Nullable(Type.String({ description: 'The version that the operation installs or restores.' })),
  reason: Nullable(Type.String()),
  code: Type.Optional(ReasonCode),
  because: Type.Optional(
    Type.Object(
      { code: ReasonCode, reason: Type.String() },
      { description: 'Why the agent itself went back from a release that it had installed.' },
    ),
  ),
  startedAt: Time,
  endedAt: Time,
  durationMs: Type.Number(),
  downtimeMs: Nullable(Type.Number({ description: 'Null also when nothing is healthy at the end.' })),
  isSwitched: Type.Optional(
    Type.Boolean({ description: 'Whether the services were changed; else what ran before was not touched.' }),
  ),
});
export type HistoryEntry = Static<typeof HistoryEntry>;

export const Quarantined = Type.Object({
  version: Type.String(),
  reason: Type.String(),
  code: Type.Optional(ReasonCode),
  at: Time,
});
export type Quarantined = Static<typeof Quarantined>;

export const ServiceStatus = Type.Object({
  name: Type.String(),
  image: Type.String({ description: 'Image reference, or the image id when no reference is known.' }),
  state: Type.String({ description: 'created, running, paused, restarting, removing, exited, dead or missing.' }),
  health: Type.String({ description: 'starting, healthy, unhealthy or none.' }),
});
export type ServiceStatus = Static<typeof ServiceStatus>;

export const ServiceRestart = Type.Object(
  { service: Type.String(), startedAt: Time, endedAt: Nullable(Time), isFailed: Type.Boolean() },
  { description: 'The last restart of a service that a person asked for, since the agent started.' },
);
export type ServiceRestart = Static<typeof ServiceRestart>;

export const ConditionStatus = Type.Object({
  id: Type.String(),
  severity: Type.Enum(['info', 'warning', 'fault']),
  message: Type.String(),
  since: Time,
});
export type ConditionStatus = Static<typeof ConditionStatus>;

export const FirmwareItem = Type.Object({
  name: Type.String(),
  version: Type.String(),
  file: Type.String(),
  checksum: Type.String(),
  size: Type.Number({ description: 'Bytes.' }),
  downloadedAt: Time,
  chip: Type.Optional(Type.String({ description: 'Absent when it is unknown.' })),
  handedOver: Type.Optional(Type.Boolean({ description: 'Whether the backend has accepted it.' })),
});
export type FirmwareItem = Static<typeof FirmwareItem>;

export const WifiStatus = Type.Object({
  mode: Type.Enum(['client', 'hotspot', 'ethernet', 'offline', 'disabled']),
  ssid: Nullable(Type.String()),
  ip: Nullable(Type.String()),
  signal: Nullable(Type.Number({ description: 'Percent.' })),
  connectivity: Nullable(Type.String()),
  hotspot: Type.Object({
    active: Type.Boolean(),
    ssid: Nullable(Type.String()),
    ip: Nullable(Type.String()),
    clients: Type.Integer(),
  }),
  watchdog: Type.Object({
    state: Type.Enum(['INIT', 'CHECK', 'CONNECTED', 'RETRYING', 'JOINING', 'HOTSPOT_ACTIVE', 'DISABLED']),
    since: Time,
    attempts: Type.Integer(),
    nextRetryAt: Nullable(Time),
    lastFailure: Nullable(Type.String()),
  }),
});
export type WifiStatus = Static<typeof WifiStatus>;

/** GET /hotspot: what a phone needs to join the setup hotspot. Secret, so it is no part of the status. */
export const HotspotLogin = Type.Object({
  ssid: Type.String(),
  password: Nullable(Type.String({ description: 'Null: the hotspot is open.' })),
});
export type HotspotLogin = Static<typeof HotspotLogin>;

/** GET /clock: whether the clock of the machine is right. POST /clock answers the same. */
export const ClockStatus = Type.Object({
  trusted: Type.Boolean({ description: 'NTP set the clock since the machine started, or a person did.' }),
  source: Type.Enum(['ntp', 'person', 'none', 'unknown'], { description: 'unknown: this system does not tell.' }),
  now: Time,
});
export type ClockStatus = Static<typeof ClockStatus>;

/** POST /clock: a person sets the clock of a machine that has no NTP. */
export const ClockRequest = Type.Object({ now: Time }, { additionalProperties: false });
export type ClockRequest = Static<typeof ClockRequest>;

export const EncryptionStatus = Type.Object(
  {
    names: Type.Array(Type.String()),
    addresses: Type.Array(Type.String()),
    validUntil: Time,
    fingerprint: Type.String({ description: 'SHA-256 of the certificate of the authority: AB:CD:…' }),
  },
  { description: 'The certificate of the station, which its own authority signed.' },
);
export type EncryptionStatus = Static<typeof EncryptionStatus>;

export const Status = Type.Object({
  stationId: Type.String(),
  agentVersion: Type.String(),
  startedAt: Time,
  currentVersion: Nullable(Type.String()),
  latestVersion: Nullable(Type.String()),
  latestNotes: Nullable(Type.String({ description: 'Text or URL from the release manifest.' })),
  updateAvailable: Type.Boolean(),
  updating: Type.Boolean(),
  autoUpdate: Type.Boolean({ description: 'What a person chose, else AUTO_UPDATE. Also for firmware of devices.' }),
  lastCheckAt: Nullable(Time),
  lastError: Nullable(Type.Object({ code: Type.String(), message: Type.String(), at: Time })),
  operation: Nullable(Operation),
  rollback: Nullable(Type.Object({ version: Nullable(Type.String()), createdAt: Time })),
  quarantined: Type.Array(Quarantined),
  history: Type.Array(HistoryEntry),
  stack: Type.Object({ services: Type.Array(ServiceStatus), restart: Type.Optional(Nullable(ServiceRestart)) }),
  firmware: Type.Object({
    cacheDir: Type.String(),
    lastCheckAt: Nullable(Time),
    lastError: Nullable(Type.String()),
    items: Type.Array(FirmwareItem),
    files: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), version: Type.String() }), {
        description:
          'Complete files in the cache, also of older versions, which devices can fetch. Absent until the cache was read.',
      }),
    ),
    download: Type.Optional(
      Nullable(
        Type.Object(
          { name: Type.String(), version: Type.String(), progress: Progress },
          { description: 'The current download.' },
        ),
      ),
    ),
    refused: Type.Optional(
      Type.Array(Type.Object({ name: Type.String(), version: Nullable(Type.String()), reason: Type.String() }), {
        description: 'Firmware of the manifest that the station refuses, with the reason.',
      }),
    ),
  }),
  wifi: WifiStatus,
  clock: Type.Optional(ClockStatus),
  encryption: Type.Optional(EncryptionStatus),
  updateKeys: Type.Optional(
    Type.Array(Type.Object({ id: Type.String(), isLearned: Type.Boolean() }), {
      description:
        'Keys that may sign releases: those of UPDATE_PUBLIC_KEY, and those that signed manifests named. Absent: signatures are not checked.',
    }),
  ),
  conditions: Type.Array(ConditionStatus),
});
export type Status = Static<typeof Status>;

export const UpdateRequest = Type.Object(
  { version: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })) },
  { additionalProperties: false },
);
export const UpdateResult = Type.Object({
  result: Type.Enum(['updated', 'already_current']),
  from: Nullable(Type.String()),
  to: Nullable(Type.String()),
  durationMs: Type.Number(),
  downtimeMs: Nullable(Type.Number()),
});
export const RollbackResult = Type.Object({
  result: Type.Literal('rolled_back'),
  from: Nullable(Type.String()),
  to: Nullable(Type.String()),
  durationMs: Type.Number(),
  downtimeMs: Nullable(Type.Number()),
});
export const Accepted = Type.Object({ operationId: Type.String() });
export type Accepted = Static<typeof Accepted>;
/** POST /auto-update: a person says whether updates are installed automatically: releases, and firmware of devices. */
export const AutoUpdateRequest = Type.Object(
  { autoUpdate: Nullable(Type.Boolean({ description: 'Null: the choice is taken back, and AUTO_UPDATE counts.' })) },
  { additionalProperties: false },
);
export type AutoUpdateRequest = Static<typeof AutoUpdateRequest>;
/** What counts now. */
export const AutoUpdateResult = Type.Object({ autoUpdate: Type.Boolean() });
export type AutoUpdateResult = Static<typeof AutoUpdateResult>;
export const CheckResult = Type.Object({
  release: Type.Object({ ok: Type.Boolean(), latestVersion: Nullable(Type.String()), updateAvailable: Type.Boolean() }),
  firmware: Type.Object({ ok: Type.Boolean() }),
});
export type CheckResult = Static<typeof CheckResult>;
