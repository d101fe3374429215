import type { Kysely, Transaction } from 'kysely';
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
export type StationMembersTable = { user_id: string; role: Role; joined_at: number };

/** One row a session; its token changes with each use. */
export type RefreshTokensTable = {
  /** The session, called the token's family. */
  id: string;
  user_id: string;
  /** SHA-256 (hex) of the one token that is valid now. */
  token_hash: string;
  created_at: number;
  used_at: number;
  expires_at: number;
};

export type SettingsTable = { key: string; value: string; updated_at: number };

export type ZonesTable = { id: string; name: string; created_at: number };

/** Types beyond those that are built in. */
export type DeviceTypesTable = { type: string; definition: string; updated_at: number };

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
export type DeviceSamplesTable = { device_id: string; capability: string; at: number; value: number };

/** What became of the samples of an hour. */
export type DeviceHoursTable = {
  device_id: string;
  capability: string;
  /** Milliseconds of its beginning. */
  hour: number;
  samples: number;
  total: number;
  lowest: number;
  highest: number;
};
