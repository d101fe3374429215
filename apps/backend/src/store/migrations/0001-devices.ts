/** Devices, what they are and what they are told, and those that are gone or not here yet. */
export const deviceTables: readonly string[] = [
  `create table device_types (
    type text primary key,
    definition text not null,
    updated_at bigint not null
  )`,
  `create table devices (
    id text primary key,
    external_id text not null unique,
    type text not null,
    name text not null,
    zone_id text references zones (id) on delete set null,
    device_token text not null unique,
    status text not null default 'unknown' check (status in ('unknown', 'online', 'offline')),
    status_at bigint,
    last_seen_at bigint,
    state text not null default '{}',
    state_at bigint,
    value_times text,
    state_times text,
    fault text,
    firmware_version text,
    chip text,
    kit_tag text,
    created_at bigint not null
  )`,
  `create index devices_zone on devices (zone_id)`,
  `create table device_descriptions (
    device_id text primary key references devices (id) on delete cascade,
    definition text not null
  )`,
  `create table favourites (
    user_id text not null references users (id) on delete cascade,
    device_id text not null references devices (id) on delete cascade,
    position integer not null,
    primary key (user_id, device_id)
  )`,
  `create index favourites_device on favourites (device_id)`,
  `create table device_commands (
    id text primary key,
    device_id text not null,
    action text not null,
    user_id text,
    status text not null,
    reason text,
    at bigint not null,
    expires_at bigint not null,
    confirmation text,
    cause text,
    cause_id text,
    params text
  )`,
  `create index device_commands_status on device_commands (status, at)`,
  `create table removed_logins (
    device_id text primary key,
    external_id text not null
  )`,
  `create table removed_devices (
    external_id text primary key,
    device_id text not null,
    name text not null,
    type text not null,
    removed_at bigint not null,
    login_until bigint not null,
    token_hash text,
    command_id text not null,
    answers integer not null default 0,
    answered_at bigint,
    ended text,
    ended_at bigint
  )`,
  `create table unknown_devices (
    external_id text primary key,
    type text,
    chip text,
    firmware_version text,
    first_seen_at bigint not null,
    last_seen_at bigint not null,
    blocked integer not null default 0,
    token_hash text,
    contested integer not null default 0,
    accepted_name text,
    accepted_zone_id text,
    accepted_until bigint
  )`,
];

/** Devices that are being added, and changes of their Wi-Fi. */
export const provisioningTables: readonly string[] = [
  `create table provisionings (
    id text primary key,
    external_id text not null,
    device_type text,
    name text not null,
    name_given integer not null,
    zone_id text,
    zone_given integer not null,
    method text not null,
    address text,
    had_device integer not null,
    status text not null,
    error text,
    started_by text,
    started_at bigint not null,
    changed_at bigint not null,
    ends_at bigint,
    device_id text,
    token_hash text,
    login_at bigint,
    secrets text
  )`,
  `create unique index provisionings_open on provisionings (external_id) where status in ('queued', 'writing', 'waiting')`,
  `create table wifi_changes (
    id text primary key,
    ssid text not null,
    credentials text,
    state text not null,
    started_by text,
    started_at bigint not null,
    ended_at bigint
  )`,
  `create unique index wifi_changes_running on wifi_changes (state) where state = 'running'`,
  `create table wifi_change_devices (
    change_id text not null references wifi_changes (id) on delete cascade,
    device_id text not null,
    state text not null,
    told_at bigint,
    reason text,
    changed_at bigint not null,
    primary key (change_id, device_id)
  )`,
];

/** Firmware of devices and its rollouts. */
export const firmwareTables: readonly string[] = [
  `create table firmware_images (
    type text not null,
    version text not null,
    file text not null,
    path text,
    checksum text not null,
    size bigint not null,
    chip text,
    min_version text,
    needs_approval integer,
    ready_at bigint not null,
    primary key (type, version)
  )`,
  `create table firmware_modes (
    type text primary key,
    mode text not null,
    updated_at bigint not null
  )`,
  `create table firmware_rollouts (
    id text primary key,
    type text not null,
    version text not null,
    state text not null,
    settings text not null,
    wave integer not null,
    reason text,
    requested_by text,
    created_at bigint not null,
    ended_at bigint
  )`,
  `create index firmware_rollouts_type on firmware_rollouts (type, version, id)`,
  `create table firmware_targets (
    rollout_id text not null references firmware_rollouts (id) on delete cascade,
    device_id text not null references devices (id) on delete cascade,
    state text not null,
    phase text,
    percent integer,
    wave integer,
    failures integer not null,
    interruptions integer not null,
    handshakes integer not null default 0,
    reason text,
    not_before bigint not null,
    started_at bigint,
    changed_at bigint not null,
    primary key (rollout_id, device_id)
  )`,
  `create index firmware_targets_state on firmware_targets (state)`,
];
