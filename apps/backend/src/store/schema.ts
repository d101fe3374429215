import type { CommandCause } from '../core/commands.ts';
import type { Kysely, Transaction } from 'kysely';
import type { Role } from '@station/protocol/roles';

/**
 * The tables as this release sees them. Ids are UUIDv7 texts, times are milliseconds since the epoch, structured values are JSON
 * texts: types that SQLite and PostgreSQL keep alike. A feature declares its own ones in its folder (`NAME-tables.ts`); here are
 * those that several use.
 */
export interface Schema {
  users: UsersTable;
  station: StationTable;
  station_members: StationMembersTable;
  member_limits: MemberLimitsTable;
  member_zones: MemberZonesTable;
  settings: SettingsTable;
  zones: ZonesTable;
  scenes: ScenesTable;
  device_types: DeviceTypesTable;
  devices: DevicesTable;
  device_storage: DeviceStorageTable;
  device_commands: DeviceCommandsTable;
  station_events: StationEventsTable;
  notifications: NotificationsTable;
  removed_logins: RemovedLoginsTable;
  removed_devices: RemovedDevicesTable;
  unknown_devices: UnknownDevicesTable;
}

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

type SettingsTable = { key: string; value: string; updated_at: number };

/** `position`: null for zones that nobody moved. */
export type ZonesTable = { id: string; name: string; created_at: number; position: number | null };

/** `commands`: JSON of `SceneCommand[]`. */
export type ScenesTable = { id: string; name: string; commands: string; created_at: number; updated_at: number };

/** Device types from a firmware manifest. */
type DeviceTypesTable = {
  type: string;
  /** JSON of a `DeviceType`. */
  definition: string;
  updated_at: number;
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
