/** The station itself: its settings, zones and events, its clock, its backups, and the backends that share it. */
export const stationTables: readonly string[] = [
  `create table station (
    id text primary key check (id = 'station'),
    station_id text not null,
    name text not null,
    time_zone text not null,
    latitude double precision,
    longitude double precision,
    owner_id text references users (id) on delete set null,
    created_at bigint not null
  )`,
  `create table settings (
    key text primary key,
    value text not null,
    updated_at bigint not null
  )`,
  `create table zones (
    id text primary key,
    name text not null,
    created_at bigint not null,
    position integer
  )`,
  `create table member_zones (
    user_id text not null references member_limits (user_id) on delete cascade,
    zone_id text not null references zones (id) on delete cascade,
    primary key (user_id, zone_id)
  )`,
  `create index member_zones_zone on member_zones (zone_id)`,
  `create table station_events (
    id text primary key,
    kind text not null,
    user_id text,
    data text not null,
    once text,
    at bigint not null
  )`,
  `create unique index station_events_once on station_events (once)`,
  `create table station_runs (
    id text primary key,
    started_at bigint not null,
    alive_at bigint not null
  )`,
  `create index station_runs_alive on station_runs (alive_at)`,
  `create table clock_state (
    id text primary key,
    boot_id text not null,
    uptime_ms bigint not null,
    at bigint not null,
    wall_at bigint not null,
    trusted integer not null,
    followed_ms bigint not null default 0,
    ahead_from bigint,
    hold_ms bigint not null default 0
  )`,
  `create table clock_periods (
    id text primary key,
    boot_id text not null,
    from_at bigint not null,
    to_at bigint,
    step_ms bigint,
    rest_at bigint
  )`,
  `create table backup_files (
    place text not null,
    name text not null,
    verified_at bigint not null,
    primary key (place, name)
  )`,
  `create table replicas (
    id text primary key,
    process bigint not null,
    hears bigint not null,
    seen_at bigint not null
  )`,
  `create table leadership (
    id text primary key,
    epoch bigint not null,
    replica_id text not null
  )`,
];

/** The link to a cloud. */
export const cloudTables: readonly string[] = [
  `create table cloud_config (
    id text primary key check (id = 'cloud'),
    station_token text,
    claimed_at bigint,
    claim_secret text,
    active_channels text not null,
    states_sent_at bigint not null default 0,
    dropped bigint not null default 0,
    reset_at bigint
  )`,
  `create table cloud_outbox (
    seq integer primary key autoincrement,
    channel text not null,
    ref text,
    content text,
    at bigint
  )`,
  `create table cloud_dead_letters (
    seq bigint primary key,
    channel text not null,
    content text not null,
    reason text not null,
    at bigint not null
  )`,
  `create table cloud_commands (
    key text primary key,
    outcome text,
    at bigint not null,
    life text not null default '',
    monotonic_at bigint not null default 0
  )`,
  `create index cloud_commands_at on cloud_commands (at)`,
  `create index cloud_commands_life on cloud_commands (life, monotonic_at)`,
];
