/** Automations, their runs, and scenes. */
export const automationTables: readonly string[] = [
  `create table automations (
    id text primary key,
    name text not null,
    mode text not null,
    flow text not null,
    published_mode text,
    published_flow text,
    revision bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    published_at bigint
  )`,
  `create table automation_runs (
    id text primary key,
    automation_id text not null references automations (id) on delete cascade,
    status text not null,
    reason text,
    cause text not null,
    trigger text not null,
    flow text not null,
    owner text,
    lease_until bigint,
    wake_at bigint,
    started_at bigint not null,
    ended_at bigint,
    unique (automation_id, cause)
  )`,
  `create index automation_runs_newest on automation_runs (automation_id, id)`,
  `create index automation_runs_open on automation_runs (status, wake_at) where ended_at is null`,
  `create table automation_steps (
    run_id text not null references automation_runs (id) on delete cascade,
    node_id text not null,
    position bigint not null,
    kind text not null,
    status text not null,
    started_at bigint not null,
    ended_at bigint,
    due_at bigint,
    late_ms bigint,
    detail text,
    seen text,
    primary key (run_id, node_id)
  )`,
  `create table scenes (
    id text primary key,
    name text not null,
    commands text not null,
    created_at bigint not null,
    updated_at bigint not null
  )`,
];

/** What people are told, and where. */
export const notificationTables: readonly string[] = [
  `create table notifications (
    id text primary key,
    automation_id text not null,
    automation_name text not null,
    run_id text not null,
    message text not null,
    at bigint not null,
    is_forwarded integer not null
  )`,
  `create index notifications_unforwarded on notifications (id) where is_forwarded = 0`,
  `create table notification_preferences (
    user_id text primary key references users (id) on delete cascade,
    preferences text not null
  )`,
  `create table push_subscriptions (
    id text primary key,
    user_id text not null references users (id) on delete cascade,
    session_id text not null references sessions (id) on delete cascade,
    endpoint_hash text not null unique,
    sealed text not null,
    language text not null,
    created_at bigint not null
  )`,
  `create index push_subscriptions_session_id on push_subscriptions (session_id)`,
  `create index push_subscriptions_user_id on push_subscriptions (user_id)`,
  `create table notification_queue (
    id text primary key,
    channel text not null,
    user_id text references users (id) on delete cascade,
    subscription_id text references push_subscriptions (id) on delete cascade,
    alert text not null,
    created_at bigint not null,
    not_before bigint not null,
    expires_at bigint not null,
    attempts integer not null default 0
  )`,
  `create index notification_queue_not_before on notification_queue (not_before)`,
  `create index notification_queue_subscription_id on notification_queue (subscription_id)`,
  `create index notification_queue_user_id on notification_queue (user_id)`,
  `create table alert_states (
    key text primary key,
    state text not null,
    at bigint not null
  )`,
];
