import type { Generated, Kysely, Transaction } from 'kysely';
import type { RolloutState, TargetPhase, TargetState } from '@station/protocol/firmware-rollouts';
import type { RunMode, RunReason, RunStatus, RunStep } from '@station/protocol/automations';
import type { Role } from '@station/protocol/rest';

/**
 * The tables as this release sees them. Ids are UUIDv7 texts, times are milliseconds since the epoch, structured values are JSON
 * texts: types that SQLite and PostgreSQL keep alike.
 */
export type Schema = {
  users: UsersTable;
  station: StationTable;
  station_members: StationMembersTable;
  refresh_tokens: RefreshTokensTable;
  settings: SettingsTable;
  zones: ZonesTable;
  device_types: DeviceTypesTable;
  devices: DevicesTable;
  device_events: DeviceEventsTable;
  device_samples: DeviceSamplesTable;
  device_hours: DeviceHoursTable;
  device_commands: DeviceCommandsTable;
  replicas: ReplicasTable;
  leadership: LeadershipTable;
  token_revocations: TokenRevocationsTable;
  automations: AutomationsTable;
  automation_runs: AutomationRunsTable;
  automation_steps: AutomationStepsTable;
  notifications: NotificationsTable;
  firmware_images: FirmwareImagesTable;
  firmware_modes: FirmwareModesTable;
  firmware_rollouts: FirmwareRolloutsTable;
  firmware_targets: FirmwareTargetsTable;
  removed_logins: RemovedLoginsTable;
  cloud_config: CloudConfigTable;
  cloud_outbox: CloudOutboxTable;
  cloud_set_aside: CloudSetAsideTable;
  cloud_commands: CloudCommandsTable;
};

export type Database = Kysely<Schema>;
export type DatabaseTransaction = Transaction<Schema>;

export type UsersTable = {
  id: string;
  /** Lower case; unique. */
  email: string;
  name: string;
  /** Global role, as it goes into the access token. */
  role: Role;
  /** PHC string (argon2id); null for someone who only comes in through the cloud. */
  station_password_hash: string | null;
  cloud_user_id: string | null;
  /** The address before the cloud linked itself to someone who was known here already; null for everyone else. */
  home_email: string | null;
  /** The password of such a user from before the cloud replaced it; null while it has not, or someone set another one here. */
  home_password_hash: string | null;
  /** The role before the cloud gave such a user, or the owner at home, another one; null while it has not, or another one was set here. */
  home_role: Role | null;
  created_at: number;
};

export type StationTable = {
  /** Always 'station': there is one row. */
  id: 'station';
  /** UUID in topics; the one of STATION_ID wins over it. */
  station_id: string;
  name: string;
  time_zone: string;
  owner_id: string | null;
  created_at: number;
};

/** Everyone but the owner, who stands in `station.owner_id`. */
type StationMembersTable = { user_id: string; role: Role; joined_at: number };

/** One row a session; its token changes with each use. */
type RefreshTokensTable = {
  /** The session, called the token's family. */
  id: string;
  user_id: string;
  /** SHA-256 (hex) of the one token that is valid now. */
  token_hash: string;
  created_at: number;
  used_at: number;
  expires_at: number;
};

type SettingsTable = { key: string; value: string; updated_at: number };

export type ZonesTable = { id: string; name: string; created_at: number };

/** Types beyond those that are built in. */
type DeviceTypesTable = { type: string; definition: string; updated_at: number };

export type DevicesTable = {
  id: string;
  /** The id in topics, unique on the station. */
  external_id: string;
  type: string;
  name: string;
  zone_id: string | null;
  /** SHA-256 (hex) of the token. */
  device_token: string;
  /** Unknown until it was heard for the first time. */
  status: 'unknown' | 'online' | 'offline';
  status_at: number | null;
  last_seen_at: number | null;
  /** JSON object: the latest value of each capability. */
  state: string;
  state_at: number | null;
  firmware_version: string | null;
  chip: string | null;
  kit_tag: string | null;
  created_at: number;
};

/** What the broker is still to be told (`mqtt/removed-logins.ts`). */
type RemovedLoginsTable = { device_id: string; external_id: string };

export type DeviceEventsTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  device_id: string;
  kind: string;
  /** JSON object. */
  data: string;
  at: number;
};

/** Every numeric value; kept for some days. */
type DeviceSamplesTable = {
  device_id: string;
  capability: string;
  at: number;
  value: number;
  /** JSON of `SampleRow['later']`: more of the same second; null: no more. */
  later: string | null;
};

/** What became of the samples of an hour. */
type DeviceHoursTable = {
  device_id: string;
  capability: string;
  /** Milliseconds of its beginning. */
  hour: number;
  samples: number;
  total: number;
  lowest: number;
  highest: number;
};

/** Complete files that the proxy serves, as the agent handed them over. */
export type FirmwareImagesTable = {
  /** Name of the firmware, which is the device type. */
  type: string;
  version: string;
  /** Name in the agent's cache. */
  file: string;
  /** Path at which the reverse proxy serves it; null: the name below FIRMWARE_FOLDER. */
  path: string | null;
  /** `sha256:` and 64 hex digits. */
  checksum: string;
  size: number;
  /** Chip it is built for, e.g. `esp32s3`; null when unknown. */
  chip: string | null;
  /** The oldest version that can take it. */
  min_version: string | null;
  ready_at: number;
};

/** How new firmware reaches the devices of a type; without a row by itself. */
type FirmwareModesTable = { type: string; mode: 'automatic' | 'approval'; updated_at: number };

export type FirmwareRolloutsTable = {
  id: string;
  type: string;
  version: string;
  state: RolloutState;
  /** JSON of RolloutSettings. */
  settings: string;
  wave: number;
  reason: string | null;
  /** Null when the station began it by itself. */
  requested_by: string | null;
  created_at: number;
  ended_at: number | null;
};

/** One row a device of a rollout; the columns are those of Target. */
export type FirmwareTargetsTable = {
  rollout_id: string;
  device_id: string;
  state: TargetState;
  phase: TargetPhase | null;
  percent: number | null;
  wave: number | null;
  failures: number;
  interruptions: number;
  greetings: number;
  reason: string | null;
  not_before: number;
  started_at: number | null;
  changed_at: number;
};

export type AutomationsTable = {
  id: string;
  name: string;
  mode: RunMode;
  /** JSON, as it is edited. */
  flow: string;
  /** As they are run; null in a draft. */
  published_mode: RunMode | null;
  published_flow: string | null;
  revision: number;
  created_at: number;
  updated_at: number;
  published_at: number | null;
};

export type AutomationRunsTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  automation_id: string;
  status: RunStatus;
  reason: RunReason | null;
  /** What started it, unique for the automation: two processes that see the same cause start one run. */
  cause: string;
  /** JSON of `RunTrigger`. */
  trigger: string;
  /** JSON: the flow as it was when the run began, which is what it ends by; empty when it never began. */
  flow: string;
  /** The process that does it while it is `running`, and until when that process needs to have said so again. */
  owner: string | null;
  lease_until: number | null;
  /** When the next delay of one that is `waiting` is over. */
  wake_at: number | null;
  started_at: number;
  ended_at: number | null;
};

/** A node of a run, from when it is begun. */
export type AutomationStepsTable = {
  run_id: string;
  node_id: string;
  /** In the order they were begun. */
  position: number;
  kind: string;
  status: RunStep['status'];
  started_at: number;
  ended_at: number | null;
  due_at: number | null;
  late_ms: number | null;
  /** For people; never a secret. */
  detail: string | null;
};

/** What automations said to people; stands in the activity. */
export type NotificationsTable = {
  /** UUIDv7: sorts by time, also among the events of devices. */
  id: string;
  automation_id: string;
  automation_name: string;
  run_id: string;
  message: string;
  at: number;
};

type DeviceCommandsTable = {
  id: string;
  device_id: string;
  action: string;
  /** Null when the station sent it by itself. */
  user_id: string | null;
  status: 'pending' | 'confirmed' | 'failed' | 'expired';
  reason: string | null;
  /** Of this status. */
  at: number;
  expires_at: number;
};

/** Backends that share this database. */
type ReplicasTable = {
  id: string;
  /** Number of the server process behind its connection: backends of before know by it one that hangs. */
  process: number;
  /** 1: it hears what devices say; 0: no more; -1: it has never done so yet. */
  hears: number;
  seen_at: number;
};

/** One row: whose term it is. */
type LeadershipTable = { id: 'leader'; epoch: number; replica_id: string };

/** Users whose access tokens were revoked, while such tokens may live; only where there are several backends. */
type TokenRevocationsTable = { user_id: string; at: number };

/** One row, or none while the station has never been near a cloud. */
type CloudConfigTable = {
  /** Always 'cloud'. */
  id: 'cloud';
  /** Sealed by the secret box; null while nobody has claimed the station. */
  station_token: string | null;
  claimed_at: number | null;
  /** Sealed as well: shown to whoever claims the station. */
  claim_secret: string | null;
  /** JSON array of channels. */
  active_channels: string;
  /** States from before are known to have reached the cloud. */
  states_sent_at: number;
  /** Messages lost for want of room, waiting or set aside. */
  dropped: number;
  /** A reset was asked for then and is not over. */
  reset_at: number | null;
};

/** What the cloud has not acknowledged, in the order it happened. */
type CloudOutboxTable = {
  seq: Generated<number>;
  channel: string;
  /** Id of the row of `device_events` that has the content; else `content` has it. */
  ref: string | null;
  /** JSON object. */
  content: string | null;
  /** Null where `ref` leads to it. */
  at: number | null;
};

/** At which the cloud ended the link, again and again. */
type CloudSetAsideTable = { seq: number; channel: string; content: string; reason: string; at: number };

/** Commands of the cloud by idempotency key; kept for a day. */
type CloudCommandsTable = {
  key: string;
  /** JSON; null while it is being carried out. */
  outcome: string | null;
  at: number;
  /** The run of the backend that it came to, and when by the clock of that run that only goes forward. */
  life: Generated<string>;
  monotonic_at: Generated<number>;
};
