import type { CommandCause } from '../core/commands.ts';
import type { Generated, Kysely, Transaction } from 'kysely';
import type { ConsumerKind } from '@station/protocol/consumers';
import type { RolloutState, TargetPhase, TargetState } from '@station/protocol/firmware-rollouts';
import type { RunMode, RunReason, RunStatus, RunStep } from '@station/protocol/automations';
import type { WifiDeviceState } from '@station/protocol/devices-wifi';
import type { Provisioning } from '@station/protocol/provisioning';
import type { Role } from '@station/protocol/roles';

/**
 * The tables as this release sees them. Ids are UUIDv7 texts, times are milliseconds since the epoch, structured values are JSON
 * texts: types that SQLite and PostgreSQL keep alike.
 */
export type Schema = {
  users: UsersTable;
  station: StationTable;
  station_members: StationMembersTable;
  member_limits: MemberLimitsTable;
  member_zones: MemberZonesTable;
  sessions: SessionsTable;
  settings: SettingsTable;
  zones: ZonesTable;
  favourites: FavouritesTable;
  scenes: ScenesTable;
  device_types: DeviceTypesTable;
  device_descriptions: DeviceDescriptionsTable;
  devices: DevicesTable;
  device_events: DeviceEventsTable;
  device_samples: DeviceSamplesTable;
  device_hours: DeviceHoursTable;
  device_hour_parts: HourPartsTable;
  device_storage: DeviceStorageTable;
  device_transitions: DeviceTransitionsTable;
  report_log: ReportLogTable;
  station_runs: StationRunsTable;
  device_commands: DeviceCommandsTable;
  replicas: ReplicasTable;
  leadership: LeadershipTable;
  token_revocations: TokenRevocationsTable;
  login_counts: LoginCountsTable;
  login_networks: LoginNetworksTable;
  login_devices: LoginDevicesTable;
  station_events: StationEventsTable;
  passkeys: PasskeysTable;
  used_challenges: UsedChallengesTable;
  automations: AutomationsTable;
  automation_runs: AutomationRunsTable;
  automation_steps: AutomationStepsTable;
  notifications: NotificationsTable;
  notification_preferences: NotificationPreferencesTable;
  notification_queue: NotificationQueueTable;
  push_subscriptions: PushSubscriptionsTable;
  alert_states: AlertStatesTable;
  firmware_images: FirmwareImagesTable;
  firmware_modes: FirmwareModesTable;
  firmware_rollouts: FirmwareRolloutsTable;
  firmware_targets: FirmwareTargetsTable;
  removed_logins: RemovedLoginsTable;
  wifi_changes: WifiChangesTable;
  wifi_change_devices: WifiChangeDevicesTable;
  provisionings: ProvisioningsTable;
  backup_files: BackupFilesTable;
  removed_devices: RemovedDevicesTable;
  gateways: GatewaysTable;
  gateway_devices: GatewayDevicesTable;
  consumers: ConsumersTable;
  consumer_topics: ConsumerTopicsTable;
  unknown_devices: UnknownDevicesTable;
  cloud_config: CloudConfigTable;
  cloud_outbox: CloudOutboxTable;
  cloud_dead_letters: CloudDeadLettersTable;
  cloud_commands: CloudCommandsTable;
  clock_state: ClockStateTable;
  clock_periods: ClockPeriodsTable;
};

export type Database = Kysely<Schema>;
export type DatabaseKind = 'sqlite' | 'postgres';
export type DatabaseTransaction = Transaction<Schema>;

/** The roles that columns have; the others are a member with limits. */
export type StoredRole = Exclude<Role, 'limited' | 'guest'>;

export type UsersTable = {
  id: string;
  /** Lower case; unique. */
  email: string;
  name: string;
  /** Global role. With a row of `member_limits` a member is limited or a guest. */
  role: StoredRole;
  /** PHC string (argon2id), or bcrypt until the next log-in; null for a user who only logs in through the cloud. */
  station_password_hash: string | null;
  /** SHA-256 (hex) of the hash of the cloud in whose place the stored one was computed at a log-in; null: none. */
  replaced_hash: string | null;
  cloud_user_id: string | null;
  /** The address before the cloud linked a local user; null for all others. */
  home_email: string | null;
  /** Such a user's password before the cloud replaced it; null if it did not, or if a new one was set locally. */
  home_password_hash: string | null;
  /** Role of such a user, or of the local owner, before the cloud changed it; null if it did not, or if one was set locally. */
  home_role: StoredRole | null;
  /** Since when the cloud has closed such a user's account; null: it is open. */
  closed_at: number | null;
  created_at: number;
};

export type StationTable = {
  /** Always 'station': there is one row. */
  id: 'station';
  /** UUID in topics; STATION_ID overrides it. */
  station_id: string;
  name: string;
  time_zone: string;
  /** Degrees; null: not set. */
  latitude: number | null;
  longitude: number | null;
  owner_id: string | null;
  created_at: number;
};

/** All members except the owner, whose id is in `station.owner_id`. */
type StationMembersTable = { user_id: string; role: StoredRole; joined_at: number };

/** Limits of members; ignored while somebody is more than a member. `ends_at`: of a guest; null: a limited member. */
type MemberLimitsTable = { user_id: string; ends_at: number | null };
type MemberZonesTable = { user_id: string; zone_id: string };

/** One row a session; its token changes with each use. */
type SessionsTable = {
  /** The session, called the token's family. */
  id: string;
  user_id: string;
  /** SHA-256 (hex) of the one token that is valid now. */
  token_hash: string;
  /** The browser or program that last used it, as it names itself (`User-Agent`), and its IP address; null: not recorded. */
  user_agent: string | null;
  address: string | null;
  created_at: number;
  used_at: number;
  /** When it ends if it is not used. */
  expires_at: number;
  /** When it ends in any case. */
  ends_at: number;
};

type SettingsTable = { key: string; value: string; updated_at: number };

/** `position`: null for zones that nobody moved. */
export type ZonesTable = { id: string; name: string; created_at: number; position: number | null };

/** `commands`: JSON of `SceneCommand[]`. */
export type ScenesTable = { id: string; name: string; commands: string; created_at: number; updated_at: number };

/** Devices that a person wants first. */
type FavouritesTable = { user_id: string; device_id: string; position: number };

/** Device types from a firmware manifest. */
type DeviceTypesTable = {
  type: string;
  /** JSON of a `DeviceType`. */
  definition: string;
  updated_at: number;
};

/** What a device says about itself. */
type DeviceDescriptionsTable = {
  device_id: string;
  /** JSON of a `DeviceType`, as in the handshake. */
  definition: string;
};

export type DevicesTable = {
  id: string;
  /** The id in topics, unique on the station. */
  external_id: string;
  type: string;
  name: string;
  zone_id: string | null;
  /** SHA-256 (hex) of the token; `unknown:` and an id where only the broker knows it. Unique. */
  device_token: string;
  /** Unknown until its first message. */
  status: 'unknown' | 'online' | 'offline';
  status_at: number | null;
  last_seen_at: number | null;
  /** JSON object: the latest value of each capability. */
  state: string;
  state_at: number | null;
  /** JSON object: when each value was reported that the latest report did not contain; null: no such values. */
  value_times: string | null;
  /** JSON object: when each capability of the state was reported. Only where several backends write. */
  state_times: string | null;
  /** JSON of a `Fault` of `core/stored-fault.ts`. */
  fault: string | null;
  firmware_version: string | null;
  chip: string | null;
  kit_tag: string | null;
  created_at: number;
};

/** Logins that still have to be removed at the broker (`RemovedLogins` in `mqtt/ports.ts`). */
type RemovedLoginsTable = { device_id: string; external_id: string };

/** One row: the latest change of the devices' Wi-Fi. */
export type WifiChangesTable = {
  id: string;
  ssid: string;
  /** Encrypted by the secret box; null once no device needs them any more. */
  credentials: string | null;
  state: 'running' | 'ended' | 'cancelled';
  started_by: string | null;
  started_at: number;
  ended_at: number | null;
};

type WifiChangeDevicesTable = {
  change_id: string;
  device_id: string;
  state: WifiDeviceState;
  /** When the message was given to the broker; set before that, so that a crash in between repeats it. */
  told_at: number | null;
  reason: string | null;
  changed_at: number;
};

/** Gateways of other systems (ADR 82). `base_topic`: the root of their tree; `discovery_prefix`: of another one; `token_hash`: SHA-256 (hex) of the password of their login. */
export type GatewaysTable = {
  id: string;
  name: string;
  dialect: string;
  base_topic: string;
  discovery_prefix: string | null;
  login: string;
  token_hash: string;
  created_at: number;
};

/** What a gateway has announced. */
export type GatewayDevicesTable = {
  external_id: string;
  gateway_id: string;
  /** As the gateway calls it. */
  name: string;
  /** JSON of a `DevicePlan`. */
  plan: string;
  /** 1: it became a device of the station. One that is none any more was removed by a person. */
  was_added: number;
  /** Since when the gateway does not announce it. */
  gone_at: number | null;
};

/** Another system that sees the station's devices. */
export type ConsumersTable = {
  kind: ConsumerKind;
  /** Discovery prefix, or base topic. */
  topic: string;
  login: string;
  token_hash: string;
  created_at: number;
};

/** A topic on which the broker may keep a message for a consumer: stored before the first one. */
type ConsumerTopicsTable = {
  kind: ConsumerKind;
  topic: string;
  /** JSON: parts of what it tells that were told once, with their platform; one that is gone must be taken back. */
  parts: Generated<string>;
};

/** Devices that were removed here, for good; a device that is added again leaves this table. */
export type RemovedDevicesTable = {
  external_id: string;
  device_id: string;
  name: string;
  type: string;
  removed_at: number;
  /** The login ends then at the latest. */
  login_until: number;
  /** The `device_token` while the login is kept. */
  token_hash: string | null;
  /** Of the `factory_reset` that it is told. */
  command_id: string;
  /** How often its handshake was answered `unknown_device`, and when last. */
  answers: number;
  answered_at: number | null;
  /** Why its login ended; null: it is kept. */
  ended: RemovalEnd | null;
  ended_at: number | null;
};

/** It confirmed `factory_reset`, it was answered `unknown_device`, or 30 days are over. */
export type RemovalEnd = 'obeyed' | 'unknown_device' | 'expired';

/** Devices that want to connect and that the station does not have. */
export type UnknownDevicesTable = {
  external_id: string;
  /** From its handshake; null: none was received. */
  type: string | null;
  chip: string | null;
  firmware_version: string | null;
  first_seen_at: number;
  last_seen_at: number;
  /** 1: it is never listed as a condition. */
  blocked: number;
  /** SHA-256 (hex) of the token of a refused login. */
  token_hash: string | null;
  /** 1: different tokens were presented. */
  contested: number;
  /** How it is added when its handshake arrives by then. */
  accepted_name: string | null;
  accepted_zone_id: string | null;
  accepted_until: number | null;
};

export type DeviceEventsTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  device_id: string;
  kind: string;
  /** JSON object. */
  data: string;
  at: number;
};

/** Every number; kept for some days. */
type DeviceSamplesTable = {
  device_id: string;
  capability: string;
  at: number;
  value: number;
  /** JSON of `SampleRow['later']`: more of the same second; null: no more. */
  later: string | null;
};

/** The aggregated samples of an hour. */
type DeviceHoursTable = {
  device_id: string;
  capability: string;
  /** Start of the hour, milliseconds since the epoch. */
  hour: number;
  samples: number;
  total: number;
  lowest: number;
  highest: number;
};

/** The sum of samples of one hour that were deleted, because the storage was full, before their hour was summed up. */
type HourPartsTable = {
  device_id: string;
  capability: string;
  /** Time of the latest of them: it moves with the samples when the clock is corrected. */
  at: number;
  samples: number;
  total: number;
  lowest: number;
  highest: number;
};

/** What the history of a device takes and lost; no row: nothing was written yet. Bytes as `store/device-storage.ts` counts them. */
export type DeviceStorageTable = {
  device_id: string;
  events_bytes: number;
  samples_bytes: number;
  hours_bytes: number;
  transitions_bytes: number;
  /** Not stored, because the device sent faster than its history takes. */
  rate_events: number;
  rate_values: number;
  /** Deleted before their time, because the storage was full. */
  size_events: number;
  size_values: number;
  /** First and latest of these losses; null: none. The counts start again after a quiet week. */
  dropped_since: number | null;
  dropped_at: number | null;
};

/**
 * Since when a value holds that is not a number, and whether a device is online (capability ''). The next row of the capability ends it. Hours
 * that are not recent and have many changes are one row with `span`.
 */
type DeviceTransitionsTable = {
  device_id: string;
  capability: string;
  at: number;
  /** JSON of a boolean or a short text; null: not known. With `span`: the value that held longest. */
  value: string | null;
  /** Milliseconds that a row summarises; null: one change. */
  span: number | null;
  /** Part of that time, without times offline, in which `value` held. */
  share: number | null;
  /** Changes in that time. 0 without `span`: the value only continues after such a time. */
  changes: number | null;
};

/**
 * States of devices that are not in their tables yet (ADR 80). A slot is one page of the file, and is used again: only its page is written.
 * Slot 0 has the `seq` up to which all are in their tables.
 */
type ReportLogTable = {
  slot: number;
  /** Rises with each row. */
  seq: number;
  /** JSON array of reports, and spaces up to the size of a slot. */
  reports: string;
};

/** One row for each time that a backend ran. */
type StationRunsTable = { id: string; started_at: number; /** Last known time. */ alive_at: number };

/** Complete files that the proxy serves, as reported by the agent. */
export type FirmwareImagesTable = {
  /** Name of the firmware: the device type, or `<chip>-<type>`. */
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
  /** 1: its rollout waits until a person approves it. */
  needs_approval: number | null;
  ready_at: number;
};

/** How new firmware reaches the devices of a type; without a row, automatically. */
type FirmwareModesTable = { type: string; mode: 'automatic' | 'approval'; updated_at: number };

export type FirmwareRolloutsTable = {
  id: string;
  /** Name of the firmware, as in `firmware_images`. */
  type: string;
  version: string;
  state: RolloutState;
  /** JSON of RolloutSettings. */
  settings: string;
  wave: number;
  reason: string | null;
  /** Null when the station started it automatically. */
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
  handshakes: number;
  reason: string | null;
  not_before: number;
  started_at: number | null;
  changed_at: number;
};

export type AutomationsTable = {
  id: string;
  name: string;
  mode: RunMode;
  /** JSON of the flow as the editor saved it. */
  flow: string;
  /** The triggers and flow that run; null in a draft. */
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
  /** The cause, unique for each automation: two processes that see the same cause start only one run. */
  cause: string;
  /** JSON of `RunTrigger`. */
  trigger: string;
  /** JSON of the flow at the start of the run, which is used to its end; empty when the run never started. */
  flow: string;
  /** The process that executes it while it is `running`, and the time by which that process must renew its claim. */
  owner: string | null;
  lease_until: number | null;
  /** End of the current delay of a `waiting` run. */
  wake_at: number | null;
  started_at: number;
  ended_at: number | null;
};

/** A node of a run, stored when it starts. */
export type AutomationStepsTable = {
  run_id: string;
  node_id: string;
  /** Order in which the nodes started. */
  position: number;
  kind: string;
  status: RunStep['status'];
  started_at: number;
  ended_at: number | null;
  due_at: number | null;
  late_ms: number | null;
  /** For people; never a secret. */
  detail: string | null;
  /** JSON of `StepSeen`; null: nothing was seen. */
  seen: string | null;
};

/** Notifications of automations for people; the activity list shows them. */
export type NotificationsTable = {
  /** UUIDv7: sorts by time, also among the events of devices. */
  id: string;
  automation_id: string;
  automation_name: string;
  run_id: string;
  message: string;
  at: number;
  /** 0: not yet in the queue of notifications. */
  is_forwarded: number;
};

/** JSON of what a user wants to be told; no row: the usual. */
type NotificationPreferencesTable = { user_id: string; preferences: string };

/** A browser that shows notifications, until its session or its user ends. */
type PushSubscriptionsTable = {
  id: string;
  user_id: string;
  session_id: string;
  /** SHA-256 (hex) of the address at the push service. */
  endpoint_hash: string;
  /** Encrypted JSON: address and keys. */
  sealed: string;
  language: string;
  created_at: number;
};

/** What people were already told, by subject (`alerts-decide.ts`). */
type AlertStatesTable = { key: string; state: string; at: number };

/** One row for each message and receiver, until it is sent or expires. */
type NotificationQueueTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  channel: 'push' | 'email' | 'ntfy' | 'webhook';
  /** Of `push` and `email`. */
  user_id: string | null;
  subscription_id: string | null;
  /** JSON of an `Alert`. */
  alert: string;
  created_at: number;
  not_before: number;
  expires_at: number;
  attempts: Generated<number>;
};

/** One row for each time that a device is added. Open: `queued`, `writing` or `waiting`; one of them for each external id. */
export type ProvisioningsTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  external_id: string;
  device_type: string | null;
  name: string;
  /** 1: a device that the station has gets this name. */
  name_given: number;
  zone_id: string | null;
  zone_given: number;
  method: Provisioning['method'];
  /** Of the candidate; null without radio. */
  address: string | null;
  /** 1: the station had this device when it began. */
  had_device: number;
  status: Provisioning['status'];
  error: Provisioning['error'];
  started_by: string | null;
  started_at: number;
  changed_at: number;
  ends_at: number | null;
  device_id: string | null;
  /** Of the login that was made; null: none, or it ended. */
  token_hash: string | null;
  /** Since when a handshake can only come from a device with this login; null: not yet. */
  login_at: number | null;
  /** Sealed JSON: the Wi-Fi, and the token while it has to be written or given to the broker. Null when it ended. */
  secrets: string | null;
};

type DeviceCommandsTable = {
  id: string;
  device_id: string;
  action: string;
  /** Null when the station sent it automatically. */
  user_id: string | null;
  status: 'pending' | 'confirmed' | 'failed' | 'expired';
  reason: string | null;
  /** Time of this status. */
  at: number;
  expires_at: number;
  /** JSON of `Confirmation`. */
  confirmation: string | null;
  /** What gave it; null: the station itself. Ids of commands with a cause sort by time. */
  cause: CommandCause['kind'] | null;
  /** Of the automation or scene. */
  cause_id: string | null;
  /** JSON of the parameters that the state shows anyway. */
  params: string | null;
};

/** Events of the station and its people, by time. */
type StationEventsTable = {
  id: string;
  kind: string;
  /** Who did it or whom it concerns; the user may be gone. */
  user_id: string | null;
  /** JSON, as `activityEvents` describes it. */
  data: string;
  /** Unique. */
  once: string | null;
  at: number;
};

/** Backends that share this database. */
type ReplicasTable = {
  id: string;
  /** Process id of the server behind its connection: older backends identify a hanging backend by it. */
  process: number;
  /** 1: it receives messages of devices; 0: it stopped; -1: it never did yet. */
  hears: number;
  seen_at: number;
};

/** One row: the current leader's term. */
type LeadershipTable = { id: 'leader'; epoch: number; replica_id: string };

/** Users whose access tokens were revoked, until those tokens expire; only used with several backends. */
type TokenRevocationsTable = {
  /** Of the user whose tokens have ended, or of the session. */
  user_id: string;
  at: number;
};

/** Failed log-ins that have a delay. */
type LoginCountsTable = {
  key: string;
  failures: number;
  at: number;
};

/** From where a user has logged in. */
type LoginNetworksTable = {
  user_id: string;
  /** An IPv4 address or an IPv6 /64. */
  network: string;
  at: number;
};

/** Browsers that have logged in to an account. */
type LoginDevicesTable = {
  user_id: string;
  /** SHA-256 (hex) of the cookie. */
  token_hash: string;
  /** The latest session of it. */
  session_id: string;
  at: number;
};

/** Public keys with which users log in (Web Authentication). */
export type PasskeysTable = {
  id: string;
  user_id: string;
  name: string;
  /** Host name for which the key was made. */
  rp_id: string;
  /** Chosen by the device; base64url, unique. */
  credential_id: string;
  /** COSE_Key (RFC 9052), base64url. */
  public_key: string;
  /** How often the device used the key, as it said last; devices that do not count say 0. */
  counter: number;
  created_at: number;
  used_at: number | null;
};

/** Challenges of passkeys that were answered; kept for as long as they could be answered again. */
type UsedChallengesTable = { challenge: string; used_at: number };

/** One row; none while the station never used a cloud. */
type CloudConfigTable = {
  /** Always 'cloud'. */
  id: 'cloud';
  /** Encrypted by the secret box; null while the station is unclaimed. */
  station_token: string | null;
  claimed_at: number | null;
  /** Also encrypted: shown to the person who claims the station. */
  claim_secret: string | null;
  /** JSON array of channels. */
  active_channels: string;
  /** States before this time have reached the cloud. */
  states_sent_at: number;
  /** Messages dropped because a limit was reached, from the outbox or the dead letters. */
  dropped: number;
  /** Time when an unfinished reset was requested. */
  reset_at: number | null;
};

/** Messages that the cloud has not acknowledged, in the order they occurred. */
type CloudOutboxTable = {
  seq: Generated<number>;
  channel: string;
  /** Id of the row of `device_events` that has the content; else `content` has it. */
  ref: string | null;
  /** JSON object. */
  content: string | null;
  /** Null when `ref` names the row with the content. */
  at: number | null;
};

/** Dead letters: the cloud repeatedly ended the link at them. */
type CloudDeadLettersTable = { seq: number; channel: string; content: string; reason: string; at: number };

/** Commands of the cloud by idempotency key, kept for a day. */
type CloudCommandsTable = {
  key: string;
  /** JSON; null while it is being carried out. */
  outcome: string | null;
  at: number;
  /** The backend run that received it, and the time by that run's monotonic clock. */
  life: Generated<string>;
  monotonic_at: Generated<number>;
};

/** Backup files that were verified; the files themselves are listed at their destination. */
type BackupFilesTable = { place: string; name: string; verified_at: number };

/** One row; none before the first start. */
type ClockStateTable = {
  /** Always 'clock'. */
  id: 'clock';
  boot_id: string;
  /** Since the machine started. */
  uptime_ms: number;
  /** The time of the station, and that of the wall clock at the same moment. */
  at: number;
  wall_at: number;
  /** 1: the clock was known to be right. */
  trusted: number;
  /** Sum of the jumps that nobody confirmed; the first of them led to `ahead_from`. */
  followed_ms: number;
  ahead_from: number | null;
  /** What is left of the time in which nothing is deleted because of its age. */
  hold_ms: number;
};

/** Times in a period are provisional. It is deleted once they are corrected. */
export type ClockPeriodsTable = {
  id: string;
  boot_id: string;
  from_at: number;
  /** Inclusive; null: it lasts. */
  to_at: number | null;
  /** Correction of its times; null: not known yet. All but the history is corrected when this is written. */
  step_ms: number | null;
  /** The part of the history that is not corrected: up to here when the step is forward, from here when it is back. */
  rest_at: number | null;
};
