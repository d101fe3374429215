/** Accounts, members, sessions and other ways to log in. */
export const peopleTables: readonly string[] = [
  `create table users (
    id text primary key,
    email text not null unique,
    name text not null,
    role text not null check (role in ('owner', 'admin', 'member')),
    station_password_hash text,
    replaced_hash text,
    cloud_user_id text unique,
    home_email text,
    home_password_hash text,
    home_role text,
    closed_at bigint,
    created_at bigint not null
  )`,
  `create table member_limits (
    user_id text primary key references users (id) on delete cascade,
    ends_at bigint
  )`,
  `create table station_members (
    user_id text primary key references users (id) on delete cascade,
    role text not null check (role in ('admin', 'member')),
    joined_at bigint not null
  )`,
  `create table sessions (
    id text primary key,
    user_id text not null references users (id) on delete cascade,
    token_hash text not null,
    user_agent text,
    address text,
    created_at bigint not null,
    used_at bigint not null,
    expires_at bigint not null,
    ends_at bigint not null
  )`,
  `create index sessions_user on sessions (user_id)`,
  `create table passkeys (
    id text primary key,
    user_id text not null references users (id) on delete cascade,
    name text not null,
    rp_id text not null,
    credential_id text not null unique,
    public_key text not null,
    counter bigint not null,
    created_at bigint not null,
    used_at bigint
  )`,
  `create index passkeys_user on passkeys (user_id)`,
  `create table used_challenges (
    challenge text primary key,
    used_at bigint not null
  )`,
  `create table login_counts (
    key text primary key,
    failures double precision not null,
    at bigint not null
  )`,
  `create table login_networks (
    user_id text not null references users (id) on delete cascade,
    network text not null,
    at bigint not null,
    primary key (user_id, network)
  )`,
  `create table login_devices (
    user_id text not null references users (id) on delete cascade,
    token_hash text not null,
    session_id text not null,
    at bigint not null,
    primary key (user_id, token_hash)
  )`,
  `create table token_revocations (
    user_id text primary key,
    at bigint not null
  )`,
];
