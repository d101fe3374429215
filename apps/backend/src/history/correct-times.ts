import { type RawBuilder, sql } from 'kysely';
import type { Store } from '../store/database.ts';
import type { Database, DatabaseTransaction, Schema } from '../store/schema.ts';

/** Times from `fromMs` to `toMs` (inclusive, milliseconds since the epoch) are wrong by `stepMs`. */
export type TimeShift = { fromMs: number; toMs: number; stepMs: number };

type Columns = {
  /** Each moves when it lies in the period. */
  own: readonly string[];
  /** Ends of waits: each moves with the time at which the wait began. */
  along?: readonly { column: string; began: string }[];
  /** Those of `own` at which a wait began, and the condition (SQL) of rows whose wait is not over. */
  waits?: { began: readonly string[]; isOpen: string };
};

/**
 * Every time in the database except those of the history, and except the end of a guest, which a person chose on a clock of their own.
 * Those of JSON texts (`value_times`) are replaced by the next report.
 */
const times: Partial<Record<keyof Schema, Columns>> = {
  users: { own: ['created_at', 'closed_at'] },
  station: { own: ['created_at'] },
  station_members: { own: ['joined_at'] },
  sessions: {
    own: ['created_at', 'used_at'],
    along: [
      { column: 'expires_at', began: 'used_at' },
      { column: 'ends_at', began: 'used_at' },
    ],
    waits: { began: ['used_at'], isOpen: '1 = 1' },
  },
  login_counts: { own: ['at'] },
  login_networks: { own: ['at'] },
  login_devices: { own: ['at'] },
  passkeys: { own: ['created_at', 'used_at'] },
  used_challenges: { own: ['used_at'] },
  settings: { own: ['updated_at'] },
  zones: { own: ['created_at'] },
  scenes: { own: ['created_at', 'updated_at'] },
  station_events: { own: ['at'] },
  station_runs: { own: ['started_at', 'alive_at'] },
  device_types: { own: ['updated_at'] },
  devices: { own: ['created_at', 'last_seen_at', 'state_at', 'status_at'] },
  device_commands: {
    own: ['at'],
    along: [{ column: 'expires_at', began: 'at' }],
    waits: { began: ['at'], isOpen: "status = 'pending'" },
  },
  automations: { own: ['created_at', 'updated_at', 'published_at'] },
  automation_steps: {
    own: ['started_at', 'ended_at'],
    along: [{ column: 'due_at', began: 'started_at' }],
    waits: { began: ['started_at'], isOpen: "status = 'waiting'" },
  },
  automation_runs: { own: ['started_at', 'ended_at'] },
  notifications: { own: ['at'] },
  notification_queue: {
    own: ['created_at'],
    along: [
      { column: 'not_before', began: 'created_at' },
      { column: 'expires_at', began: 'created_at' },
    ],
    waits: { began: ['created_at'], isOpen: '1 = 1' },
  },
  push_subscriptions: { own: ['created_at'] },
  alert_states: { own: ['at'] },
  firmware_images: { own: ['ready_at'] },
  firmware_rollouts: { own: ['created_at', 'ended_at'] },
  firmware_targets: {
    own: ['started_at', 'changed_at'],
    along: [{ column: 'not_before', began: 'changed_at' }],
    waits: {
      began: ['started_at', 'changed_at'],
      isOpen: `(state = 'updating' or state in ('waiting', 'updated') and exists (
        select 1 from firmware_rollouts where firmware_rollouts.id = firmware_targets.rollout_id
          and firmware_rollouts.state in ('waiting_approval', 'running', 'paused')))`,
    },
  },
  wifi_changes: { own: ['started_at', 'ended_at'] },
  wifi_change_devices: {
    own: ['told_at', 'changed_at'],
    waits: {
      began: ['told_at', 'changed_at'],
      isOpen: `exists (select 1 from wifi_changes
        where wifi_changes.id = wifi_change_devices.change_id and wifi_changes.state = 'running')`,
    },
  },
  provisionings: {
    own: ['started_at', 'changed_at', 'login_at'],
    along: [{ column: 'ends_at', began: 'changed_at' }],
    waits: { began: ['changed_at', 'login_at'], isOpen: "status in ('queued', 'writing', 'waiting')" },
  },
  removed_devices: {
    own: ['removed_at', 'answered_at', 'ended_at'],
    along: [{ column: 'login_until', began: 'removed_at' }],
    waits: { began: ['removed_at', 'answered_at'], isOpen: 'ended is null' },
  },
  unknown_devices: {
    own: ['first_seen_at', 'last_seen_at'],
    along: [{ column: 'accepted_until', began: 'last_seen_at' }],
    waits: { began: ['last_seen_at'], isOpen: 'accepted_until is not null' },
  },
  cloud_config: { own: ['claimed_at', 'states_sent_at'] },
  cloud_outbox: { own: ['at'] },
  cloud_dead_letters: { own: ['at'] },
  cloud_commands: { own: ['at'] },
};

/**
 * Corrects everything but the history: some thousand rows at most. Waits keep their length.
 * @param waitsFromMs waits that began since then and are not over move, too, although they began before the period.
 */
export async function shiftTimes(
  transaction: DatabaseTransaction,
  shift: TimeShift & { waitsFromMs: number },
): Promise<void> {
  const isIn = inPeriod(shift);
  const isInWait = inPeriod({ ...shift, fromMs: Math.min(shift.fromMs, shift.waitsFromMs) });
  const moved = (column: string) => sql`${sql.ref(column)} + cast(${shift.stepMs} as bigint)`;
  for (const [table, { own, along = [], waits }] of Object.entries(times)) {
    const isMoved = (began: string): RawBuilder<unknown> =>
      waits?.began.includes(began) === true
        ? sql`(${isIn(began)} or ${isInWait(began)} and ${sql.raw(waits.isOpen)})`
        : isIn(began);
    const changes = [
      ...own.map((column) => ({ column, began: column })),
      ...along.map(({ column, began }) => ({ column, began })),
    ].map(
      ({ column, began }) =>
        sql`${sql.ref(column)} = case when ${isMoved(began)} then ${moved(column)} else ${sql.ref(column)} end`,
    );
    await sql`
      update ${sql.table(table)} set ${sql.join(changes)}
      where ${sql.join(own.map(isMoved), sql` or `)}`.execute(transaction);
  }
  await alignRuns(transaction);
}

/** Waits that seem to begin later than `nowMs` begin then, and keep their length: the clock was ahead. */
export async function pullWaits(transaction: DatabaseTransaction, nowMs: number): Promise<void> {
  for (const [table, { along = [], waits }] of Object.entries(times)) {
    if (waits === undefined) continue;
    const isLater = (began: string) => sql`${sql.ref(began)} > cast(${nowMs} as bigint)`;
    const changes = [
      ...waits.began.map((column) => ({ column, began: column })),
      ...along.map(({ column, began }) => ({ column, began })),
    ].map(({ column, began }) => {
      const pulled = sql`${sql.ref(column)} - ${sql.ref(began)} + cast(${nowMs} as bigint)`;
      return sql`${sql.ref(column)} = case when ${isLater(began)} then ${pulled} else ${sql.ref(column)} end`;
    });
    await sql`
      update ${sql.table(table)} set ${sql.join(changes)}
      where (${sql.join(waits.began.map(isLater), sql` or `)}) and ${sql.raw(waits.isOpen)}`.execute(transaction);
  }
  await alignRuns(transaction);
}

/** A run that waits is due at the earliest end of its delays. */
async function alignRuns(transaction: DatabaseTransaction): Promise<void> {
  const due = sql`select min(due_at) from automation_steps where run_id = automation_runs.id and automation_steps.status = 'waiting'`;
  await sql`update automation_runs set wake_at = coalesce((${due}), wake_at) where status = 'waiting'`.execute(
    transaction,
  );
}

const inPeriod =
  ({ fromMs, toMs }: TimeShift) =>
  (column: string): RawBuilder<unknown> =>
    sql`(${sql.ref(column)} >= cast(${fromMs} as bigint) and ${sql.ref(column)} <= cast(${toMs} as bigint))`;

/** Tables of the history. `key`: columns that must be unique together with `at`. */
const histories: readonly { table: keyof Schema; key: readonly string[] }[] = [
  { table: 'device_samples', key: ['device_id', 'capability'] },
  { table: 'device_hour_parts', key: ['device_id', 'capability'] },
  { table: 'device_transitions', key: ['device_id', 'capability'] },
  { table: 'device_events', key: [] },
];

/** Rows of samples that one transaction moves. */
const rowsAtOnce = 2_000;

/**
 * Corrects the next part of the history in one transaction, beginning where the rows move to, so that none meets one that still has to
 * move.
 * @param restMs as `rest_at` of the period.
 * @param save stores how much is left, in the same transaction; null: nothing.
 * @returns what is left.
 */
export async function shiftHistory(
  { db }: { db: Database },
  { fromMs, toMs, stepMs, restMs }: TimeShift & { restMs: number },
  save: (transaction: DatabaseTransaction, restMs: number | null) => Promise<void>,
): Promise<number | null> {
  const isForward = stepMs > 0;
  const [low, high] = isForward ? [fromMs, restMs] : [restMs, toMs];
  return db.transaction().execute(async (transaction) => {
    const edge = await sql<{ at: number }>`
      select at from device_samples where at >= cast(${low} as bigint) and at <= cast(${high} as bigint)
      order by at ${sql.raw(isForward ? 'desc' : 'asc')} limit 1 offset ${sql.lit(rowsAtOnce)}`.execute(transaction);
    const last = edge.rows[0]?.at ?? (isForward ? low : high);
    const part = isForward ? { fromMs: last, toMs: high, stepMs } : { fromMs: low, toMs: last, stepMs };
    for (const { table, key } of histories) await moveRows(transaction, table, key, part);
    const left = isForward ? last - 1 : last + 1;
    const isDone = isForward ? left < fromMs : left > toMs;
    await save(transaction, isDone ? null : left);
    return isDone ? null : left;
  });
}

/** By way of negative times: no row meets another one of the same move. */
async function moveRows(
  transaction: DatabaseTransaction,
  table: string,
  key: readonly string[],
  part: TimeShift,
): Promise<void> {
  const isIn = inPeriod(part);
  await sql`
    update ${sql.table(table)} set at = -(at + cast(${part.stepMs} as bigint)) where ${isIn('at')}`.execute(
    transaction,
  );
  if (key.length > 0) {
    const isSame = key.map((column) => sql`other.${sql.ref(column)} = ${sql.table(table)}.${sql.ref(column)}`);
    // Two values of one millisecond: the one whose time was always right stays.
    await sql`
      delete from ${sql.table(table)} where at < 0 and exists (
        select 1 from ${sql.table(table)} as other
        where ${sql.join(isSame, sql` and `)} and other.at = -${sql.table(table)}.at)`.execute(transaction);
  }
  await sql`update ${sql.table(table)} set at = -at where at < 0`.execute(transaction);
}

/** Time of the newest message of a device or action of a person; null: there is none. */
export async function newestTime({ db, kind }: Pick<Store, 'db' | 'kind'>): Promise<number | null> {
  // A start asks before anything is moved out of the log (ADR 80). A server has none.
  const logged =
    kind === 'sqlite'
      ? sql`union all select max(report.value ->> 'at') from report_log, json_each(report_log.reports) as report`
      : sql``;
  const { rows } = await sql<{ at: number | null }>`
    select max(at) as at from (
      select max(at) as at from device_samples
      union all select max(at) from device_events
      union all select max(at) from device_transitions
      union all select max(last_seen_at) from devices
      union all select max(at) from device_commands
      union all select max(used_at) from sessions
      union all select max(to_at) from clock_periods
      union all select max(from_at) from clock_periods
      ${logged}
    ) as newest`.execute(db);
  return rows[0]?.at ?? null;
}
