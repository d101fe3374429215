import type { Selectable } from 'kysely';
import {
  maxParallelRuns,
  maxRunsPerMinute,
  type RunMode,
  type RunReason,
  type RunTrigger,
} from '@station/protocol/automations';
import type { Store } from '../store/database.ts';
import type { Database, DatabaseTransaction, NotificationsTable } from '../store/schema.ts';
import type { AutomationRunsTable, AutomationStepsTable } from './automations-tables.ts';

export type RunRow = Selectable<AutomationRunsTable>;
export type StepRow = Selectable<AutomationStepsTable>;
export type NotificationRow = Omit<Selectable<NotificationsTable>, 'is_forwarded'>;

/** Changes of a run in one transaction. */
export type RunChange = {
  run: Partial<Pick<RunRow, 'status' | 'reason' | 'owner' | 'lease_until' | 'wake_at' | 'ended_at'>>;
  begun: readonly StepRow[];
  /** Each applies only while the step is still `running` or `waiting`. */
  ended: readonly (Pick<StepRow, 'node_id' | 'status' | 'ended_at' | 'detail' | 'seen'> & { late_ms?: number })[];
  notifications: readonly NotificationRow[];
};

type Opening =
  | { kind: 'opened'; replaced: RunRow[] }
  | { kind: 'skipped'; reason: Extract<RunReason, 'rate_limited' | 'already_running' | 'too_many_parallel'> }
  /** Another process already handled this cause, or the automation was removed or unpublished. */
  | { kind: 'not_ours' };

export type RunStore = {
  /**
   * Starts a run with its first steps, as its mode allows, in one transaction. Runs of one automation are opened one after another, also
   * by different processes.
   */
  open(run: RunRow, first: Pick<RunChange, 'begun' | 'notifications'>, mode: RunMode): Promise<Opening>;
  /** Stores a run that is already finished. @returns false when its cause is already stored. */
  record(run: RunRow, steps: readonly StepRow[]): Promise<boolean>;
  /**
   * Changes a run of `owner`.
   * @returns false when it no longer belongs to `owner` (replaced, stopped, removed, taken over); then only the ends of steps are stored.
   */
  save(runId: string, owner: string, change: RunChange): Promise<boolean>;
  /** Claims a run that is due or `isMet`, or one whose owner's lease expired. @returns false when it cannot be claimed. */
  claim(run: Pick<RunRow, 'id' | 'status'>, claim: Claim): Promise<boolean>;
  /** Renews the leases of `owner` for these runs. */
  renew(runIds: readonly string[], owner: string, leaseUntil: number): Promise<void>;
  /** Ends the open runs of an automation. */
  stop(automationId: string, reason: RunReason, now: number): Promise<RunRow[]>;
  find(id: string): Promise<RunRow | null>;
  steps(runId: string): Promise<StepRow[]>;
  /** Runs of one automation before the run with this id, newest first. */
  page(automationId: string, before: string | null, limit: number): Promise<RunRow[]>;
  stepsOf(runIds: readonly string[]): Promise<StepRow[]>;
  /** The newest run of each automation. */
  newest(): Promise<RunRow[]>;
  /** Automations with runs skipped since then because of the rate limit. */
  limitedSince(since: number): Promise<string[]>;
  /** Deletes all but the newest runs of each automation, and notifications before this time. */
  prune(kept: number, notifiedBefore: number): Promise<void>;
  /** Waiting runs that are due by then, earliest first. */
  due(now: number): Promise<RunRow[]>;
  /** Open runs that wait for a condition, with the nodes of it. */
  conditionWaits(): Promise<{ run: RunRow; nodeId: string }[]>;
  /** The earliest end of a waiting run that is not due yet. */
  nextWake(now: number): Promise<number | null>;
  /** Running runs whose lease ended before `leaseBefore`, or of any owner but `owner`. */
  abandoned(by: { leaseBefore: number } | { notBy: string }): Promise<RunRow[]>;
};

type Claim = {
  owner: string;
  leaseUntil: number;
  /** Milliseconds since the epoch, by the clock of the run. */
  now: number;
  /** Owner of a `running` run. */
  from: string | null;
  /** A condition that it waits for is met. */
  isMet: boolean;
};

const open = ['running', 'waiting'] as const;
const rateWindowMs = 60_000;

export function createRunStore({ db, kind }: Pick<Store, 'db' | 'kind'>): RunStore {
  const runs = () => db.selectFrom('automation_runs').selectAll();
  return {
    open: (run, first, mode) => db.transaction().execute((transaction) => openRun(transaction, kind, run, first, mode)),
    record: (run, steps) => db.transaction().execute((transaction) => recordRun(transaction, kind, run, steps)),
    save: (runId, owner, change) => db.transaction().execute((transaction) => save(transaction, runId, owner, change)),
    claim: (run, claim) => claimRun(db, run, claim),
    renew: async (runIds, owner, leaseUntil) => {
      const query = db
        .updateTable('automation_runs')
        .set({ lease_until: leaseUntil })
        .where('id', 'in', [...runIds]);
      await query.where('owner', '=', owner).where('status', '=', 'running').execute();
    },
    stop: (automationId, reason, now) =>
      db.transaction().execute((transaction) => endOpen(transaction, automationId, 'stopped', reason, now)),
    find: async (id) => (await runs().where('id', '=', id).executeTakeFirst()) ?? null,
    steps: (runId) =>
      db.selectFrom('automation_steps').selectAll().where('run_id', '=', runId).orderBy('position').execute(),
    page: (automationId, before, limit) => {
      const query = runs().where('automation_id', '=', automationId).orderBy('id', 'desc').limit(limit);
      return (before === null ? query : query.where('id', '<', before)).execute();
    },
    stepsOf: async (runIds) =>
      runIds.length === 0
        ? []
        : db.selectFrom('automation_steps').selectAll().where('run_id', 'in', runIds).orderBy('position').execute(),
    newest: () => {
      const ids = db
        .selectFrom('automation_runs')
        .select(({ fn }) => fn.max('id').as('id'))
        .groupBy('automation_id');
      return runs().where('id', 'in', ids).execute();
    },
    limitedSince: (since) => limitedSince(db, since),
    prune: (kept, notifiedBefore) => prune(db, kept, notifiedBefore),
    due: (now) =>
      runs()
        .where('ended_at', 'is', null)
        .where('status', '=', 'waiting')
        .where('wake_at', '<=', now)
        .orderBy('wake_at')
        .limit(500)
        .execute(),
    nextWake: (now) => nextWake(db, now),
    conditionWaits: () => conditionWaits(db),
    abandoned: (by) => {
      const query = runs().where('ended_at', 'is', null).where('status', '=', 'running');
      const lost =
        'notBy' in by ? query.where('owner', '<>', by.notBy) : query.where('lease_until', '<', by.leaseBefore);
      return lost.execute();
    },
  };
}

async function limitedSince(db: Database, since: number): Promise<string[]> {
  const query = db.selectFrom('automation_runs').select('automation_id').distinct();
  const rows = await query.where('started_at', '>', since).where('reason', '=', 'rate_limited').execute();
  return rows.map(({ automation_id }) => automation_id);
}

async function nextWake(db: Database, now: number): Promise<number | null> {
  const next = db.selectFrom('automation_runs').select(({ fn }) => fn.min('wake_at').as('at'));
  const row = await next
    .where('ended_at', 'is', null)
    .where('status', '=', 'waiting')
    .where('wake_at', '>', now)
    .executeTakeFirst();
  return row?.at ?? null;
}

async function conditionWaits(db: Database): Promise<{ run: RunRow; nodeId: string }[]> {
  const steps = await db
    .selectFrom('automation_runs')
    .innerJoin('automation_steps', 'automation_steps.run_id', 'automation_runs.id')
    .where('automation_runs.ended_at', 'is', null)
    .where('automation_steps.status', '=', 'waiting')
    .where('automation_steps.kind', '=', 'wait_until')
    .selectAll('automation_runs')
    .select('automation_steps.node_id')
    .execute();
  return steps.map(({ node_id: nodeId, ...run }) => ({ run, nodeId }));
}

async function openRun(
  transaction: DatabaseTransaction,
  kind: Store['kind'],
  run: RunRow,
  { begun, notifications }: Pick<RunChange, 'begun' | 'notifications'>,
  mode: RunMode,
): Promise<Opening> {
  const automation = await lockAutomation(transaction, kind, run.automation_id);
  if (automation === null || !(automation.isPublished || isManual(run))) return { kind: 'not_ours' };
  const known = await transaction
    .selectFrom('automation_runs')
    .select('id')
    .where('automation_id', '=', run.automation_id)
    .where('cause', '=', run.cause)
    .executeTakeFirst();
  if (known !== undefined) return { kind: 'not_ours' };
  const reason = await refusal(transaction, run, mode);
  if (reason !== null) return { kind: 'skipped', reason };
  const replaced =
    mode === 'restart' ? await endOpen(transaction, run.automation_id, 'replaced', 'new_trigger', run.started_at) : [];
  await transaction.insertInto('automation_runs').values(run).execute();
  await insertSteps(transaction, begun);
  await insertNotifications(transaction, notifications);
  return { kind: 'opened', replaced };
}

async function recordRun(
  transaction: DatabaseTransaction,
  kind: Store['kind'],
  run: RunRow,
  steps: readonly StepRow[],
): Promise<boolean> {
  if ((await lockAutomation(transaction, kind, run.automation_id)) === null) return false;
  const inserted = await transaction
    .insertInto('automation_runs')
    .values(run)
    .onConflict((conflict) => conflict.columns(['automation_id', 'cause']).doNothing())
    .executeTakeFirst();
  if (inserted.numInsertedOrUpdatedRows !== 1n) return false;
  await insertSteps(transaction, steps);
  return true;
}

async function insertSteps(transaction: DatabaseTransaction, steps: readonly StepRow[]): Promise<void> {
  if (steps.length === 0) return;
  await transaction
    .insertInto('automation_steps')
    .values([...steps])
    .execute();
}

async function insertNotifications(transaction: DatabaseTransaction, rows: readonly NotificationRow[]): Promise<void> {
  if (rows.length === 0) return;
  await transaction
    .insertInto('notifications')
    .values(rows.map((row) => ({ ...row, is_forwarded: 0 })))
    .execute();
}

/** Locks the row in PostgreSQL; in SQLite transactions are serial. @returns null when it was removed. */
async function lockAutomation(
  transaction: DatabaseTransaction,
  kind: Store['kind'],
  id: string,
): Promise<{ isPublished: boolean } | null> {
  const query = transaction.selectFrom('automations').select('published_at').where('id', '=', id);
  const row = await (kind === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
  return row === undefined ? null : { isPublished: row.published_at !== null };
}

/** A draft can also be run manually. */
const isManual = ({ trigger }: RunRow): boolean => (JSON.parse(trigger) as RunTrigger).kind === 'manual';

async function refusal(
  transaction: DatabaseTransaction,
  { automation_id: id, started_at: now }: RunRow,
  mode: RunMode,
): Promise<Extract<Opening, { kind: 'skipped' }>['reason'] | null> {
  const ofThis = transaction.selectFrom('automation_runs').where('automation_id', '=', id);
  const lately = await ofThis
    .select('id')
    .where('started_at', '>', now - rateWindowMs)
    .where('status', '<>', 'skipped')
    .where((eb) => eb.or([eb('reason', 'is', null), eb('reason', '<>', 'conditions_not_met')]))
    .limit(maxRunsPerMinute)
    .execute();
  if (lately.length >= maxRunsPerMinute) return 'rate_limited';
  if (mode === 'restart') return null;
  const going = await ofThis.select('id').where('ended_at', 'is', null).limit(maxParallelRuns).execute();
  if (mode === 'single') return going.length > 0 ? 'already_running' : null;
  return going.length >= maxParallelRuns ? 'too_many_parallel' : null;
}

async function endOpen(
  transaction: DatabaseTransaction,
  automationId: string,
  status: 'replaced' | 'stopped',
  reason: RunReason,
  now: number,
): Promise<RunRow[]> {
  const ended = await transaction
    .updateTable('automation_runs')
    .set({ status, reason, ended_at: now, owner: null, lease_until: null, wake_at: null })
    .where('automation_id', '=', automationId)
    .where('status', 'in', open)
    .returningAll()
    .execute();
  const ids = ended.map(({ id }) => id);
  if (ids.length > 0) {
    await transaction
      .updateTable('automation_steps')
      .set({ status: 'cancelled', ended_at: now })
      .where('run_id', 'in', ids)
      .where('status', '=', 'waiting')
      .execute();
  }
  return ended;
}

async function save(
  transaction: DatabaseTransaction,
  runId: string,
  owner: string,
  { run, begun, ended, notifications }: RunChange,
): Promise<boolean> {
  const held = await transaction
    .updateTable('automation_runs')
    // An update without changes still locks the row.
    .set({ owner, ...run })
    .where('id', '=', runId)
    .where('owner', '=', owner)
    .where('status', '=', 'running')
    .executeTakeFirst();
  const isOurs = held.numUpdatedRows === 1n;
  for (const { node_id, ...result } of ended) {
    await transaction
      .updateTable('automation_steps')
      .set(result)
      .where('run_id', '=', runId)
      .where('node_id', '=', node_id)
      // The run is no longer ours: only its running actions still end; its delays were cancelled.
      .where('status', 'in', isOurs ? open : (['running'] as const))
      .execute();
  }
  if (!isOurs) return false;
  await insertSteps(transaction, begun);
  await insertNotifications(transaction, notifications);
  return true;
}

async function claimRun(
  db: Store['db'],
  { id, status }: Pick<RunRow, 'id' | 'status'>,
  { owner, leaseUntil, now, from, isMet }: Claim,
): Promise<boolean> {
  const query = db
    .updateTable('automation_runs')
    .set({ status: 'running', owner, lease_until: leaseUntil, wake_at: null })
    .where('id', '=', id)
    .where('status', '=', status);
  const mine =
    status !== 'waiting'
      ? query.where('owner', 'is not distinct from', from)
      : isMet
        ? query
        : query.where('wake_at', '<=', now);
  const claimed = await mine.executeTakeFirst();
  return claimed.numUpdatedRows === 1n;
}

async function prune(db: Store['db'], kept: number, notifiedBefore: number): Promise<void> {
  for (const { id } of await db.selectFrom('automations').select('id').execute()) {
    const ofThis = db.selectFrom('automation_runs').select('id').where('automation_id', '=', id);
    const last = await ofThis.orderBy('id', 'desc').offset(kept).limit(1).executeTakeFirst();
    if (last === undefined) continue;
    const old = db.deleteFrom('automation_runs').where('automation_id', '=', id).where('id', '<=', last.id);
    await old.where('ended_at', 'is not', null).execute();
  }
  await db.deleteFrom('notifications').where('at', '<', notifiedBefore).execute();
}
