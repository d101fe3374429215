/** What devices reported. */
export const historyTables: readonly string[] = [
  `create table device_events (
    id text primary key,
    device_id text not null references devices (id) on delete cascade,
    kind text not null,
    data text not null,
    at bigint not null
  )`,
  `create index device_events_at on device_events (at)`,
  `create index device_events_device on device_events (device_id, id)`,
  `create table device_samples (
    device_id text not null references devices (id) on delete cascade,
    capability text not null,
    at bigint not null,
    value double precision not null,
    later text,
    primary key (device_id, capability, at)
  )`,
  `create index device_samples_at on device_samples (at)`,
  `create table device_hours (
    device_id text not null references devices (id) on delete cascade,
    capability text not null,
    hour bigint not null,
    samples bigint not null,
    total double precision not null,
    lowest double precision not null,
    highest double precision not null,
    primary key (device_id, capability, hour)
  )`,
  `create index device_hours_hour on device_hours (hour)`,
  `create table device_hour_parts (
    device_id text not null references devices (id) on delete cascade,
    capability text not null,
    at bigint not null,
    samples bigint not null,
    total double precision not null,
    lowest double precision not null,
    highest double precision not null,
    primary key (device_id, capability, at)
  )`,
  `create table device_transitions (
    device_id text not null references devices (id) on delete cascade,
    capability text not null,
    at bigint not null,
    value text,
    span bigint,
    share double precision,
    changes bigint,
    primary key (device_id, capability, at)
  )`,
  `create index device_transitions_at on device_transitions (at)`,
  `create table device_storage (
    device_id text primary key references devices (id) on delete cascade,
    events_bytes bigint not null default 0,
    samples_bytes bigint not null default 0,
    hours_bytes bigint not null default 0,
    transitions_bytes bigint not null default 0,
    rate_events bigint not null default 0,
    rate_values bigint not null default 0,
    size_events bigint not null default 0,
    size_values bigint not null default 0,
    dropped_since bigint,
    dropped_at bigint
  )`,
];
