import { randomUUIDv7 } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { firmwareNamesOf, parseFirmwareName } from '@station/protocol/firmware';
import type { RolloutState } from '@station/protocol/firmware-rollouts';
import type { LoggedReports } from '../store/logged-reports.ts';
import { isOwnDevice } from '../store/device-store.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import type { FirmwareRolloutsTable, FirmwareTargetsTable } from './firmware-tables.ts';
import { isWanted, type DeviceFacts, type ImageFacts } from './rollout-decide.ts';
import { newTarget, type Rollout, type RolloutSettings, type Target } from './target-decide.ts';

export type RolloutRecord = Rollout & {
  /** Null when the station started it automatically. */
  requestedBy: string | null;
  createdAt: number;
  endedAt: number | null;
};

type NewRollout = {
  image: ImageFacts & { name: string };
  state: 'running' | 'waiting_approval';
  settings: RolloutSettings;
  requestedBy: string | null;
  /** Also devices that run a newer version, and those that failed with this one before. */
  isOnRequest: boolean;
};

export type RolloutStore = {
  /** Newest first. */
  list(limit: number): Promise<RolloutRecord[]>;
  find(id: string): Promise<RolloutRecord | null>;
  /** The newest one of this firmware. */
  findFor(name: string, version: string): Promise<RolloutRecord | null>;
  /** The newest rollout requested by a user since then, of those that reached a device or still may. */
  lastRequested(name: string, since: number): Promise<RolloutRecord | null>;
  /** Active rollouts, and ended ones that a device is still busy with; oldest first. */
  active(): Promise<RolloutRecord[]>;
  targets(rolloutId: string): Promise<Target[]>;
  /** Devices that may get the firmware, and the targets of a rollout. */
  devices(name: string, rolloutId?: string): Promise<Map<string, DeviceFacts>>;
  /**
   * Adds a rollout with every device that wants it; it supersedes active ones of the same name.
   * @returns null when no device wants it, or when it is not on request and a rollout on request is active.
   */
  create(rollout: NewRollout): Promise<RolloutRecord | null>;
  /**
   * Adds a device with an older version, also one that fell back after the rollout was done. A rollout that was done continues.
   * @returns whether it was added.
   */
  enrol(rolloutId: string, deviceId: string): Promise<boolean>;
  /** @returns the rollout as it is now; null when its state is none of `from`. */
  transition(
    id: string,
    from: readonly RolloutState[],
    to: RolloutState,
    reason: string | null,
  ): Promise<RolloutRecord | null>;
  /** Writes a decision. @returns false, having written nothing, when the rollout was changed meanwhile. */
  save(before: Rollout, after: Rollout, changed: readonly Target[]): Promise<boolean>;
};

const activeStates = ['waiting_approval', 'running', 'paused'] as const satisfies RolloutState[];
const endings: readonly RolloutState[] = ['done', 'stopped', 'aborted', 'superseded'];

/** @param logged what is newer than the tables; unset: nothing. */
export function createRolloutStore({
  db,
  logged,
  clock,
}: {
  db: Database;
  logged?: Pick<LoggedReports, 'over'> | undefined;
  clock: Clock;
}): RolloutStore {
  const all = () => rolloutsIn(db);
  return {
    list: async (limit) => (await all().orderBy('id', 'desc').limit(limit).execute()).map(toRollout),
    find: (id) => first(all().where('id', '=', id)),
    findFor: (name, version) =>
      first(all().where('type', '=', name).where('version', '=', version).orderBy('id', 'desc').limit(1)),
    lastRequested: (name, since) => {
      const reached = db
        .selectFrom('firmware_targets')
        .select('rollout_id')
        .where('state', 'in', ['waiting', 'updating', 'updated']);
      const requested = all().where('type', '=', name).where('requested_by', 'is not', null);
      return first(
        requested.where('created_at', '>=', since).where('id', 'in', reached).orderBy('id', 'desc').limit(1),
      );
    },
    active: async () => {
      const busy = db.selectFrom('firmware_targets').select('rollout_id').where('state', '=', 'updating');
      const query = all().where((is) => is.or([is('state', 'in', activeStates), is('id', 'in', busy)]));
      return (await query.orderBy('id').execute()).map(toRollout);
    },
    targets: async (rolloutId) => {
      const query = db.selectFrom('firmware_targets').selectAll().where('rollout_id', '=', rolloutId);
      return (await query.orderBy('device_id').execute()).map(toTarget);
    },
    devices: (name, rolloutId) => readDevices(db, name, { rolloutId, ...(logged && { logged }) }),
    create: (rollout) => db.transaction().execute((transaction) => create(transaction, rollout, clock.now())),
    enrol: (rolloutId, deviceId) =>
      db.transaction().execute((transaction) => enrol(transaction, rolloutId, deviceId, clock.now())),
    transition: (id, from, to, reason) =>
      db.transaction().execute((transaction) => transition(transaction, { id, from, to, reason }, clock.now())),
    save: (before, after, changed) =>
      db.transaction().execute((transaction) => save(transaction, { before, after, changed }, clock.now())),
  };
}

const rolloutsIn = (db: Database | DatabaseTransaction) => db.selectFrom('firmware_rollouts').selectAll();

async function first(query: {
  executeTakeFirst(): Promise<FirmwareRolloutsTable | undefined>;
}): Promise<RolloutRecord | null> {
  const row = await query.executeTakeFirst();
  return row === undefined ? null : toRollout(row);
}

async function create(transaction: DatabaseTransaction, given: NewRollout, now: number): Promise<RolloutRecord | null> {
  const { image, state, settings, requestedBy, isOnRequest } = given;
  const { name, version } = image;
  const devices = await readDevices(transaction, name);
  const failed = isOnRequest ? new Set<string>() : await failedBefore(transaction, name, version);
  const deviceIds = [...devices]
    .filter(([id, device]) => !failed.has(id) && isWanted(image, device, isOnRequest))
    .map(([id]) => id);
  if (deviceIds.length === 0) return null;
  const rows = transaction.selectFrom('firmware_rollouts').select(['id', 'requested_by']).where('type', '=', name);
  const older = await rows.where('state', 'in', activeStates).execute();
  if (!isOnRequest && older.some(({ requested_by: by }) => by !== null)) return null;
  const olderIds = older.map(({ id }) => id);
  if (olderIds.length > 0) {
    const superseded = { state: 'superseded' as const, reason: `Version ${version} took its place.`, ended_at: now };
    await transaction.updateTable('firmware_rollouts').set(superseded).where('id', 'in', olderIds).execute();
    await skipWaiting(transaction, olderIds, now);
  }
  const row: FirmwareRolloutsTable = {
    id: randomUUIDv7(),
    type: name,
    version,
    state,
    settings: JSON.stringify(settings),
    wave: 0,
    reason: null,
    requested_by: requestedBy,
    created_at: now,
    ended_at: null,
  };
  await transaction.insertInto('firmware_rollouts').values(row).execute();
  for (const deviceId of deviceIds) {
    await transaction
      .insertInto('firmware_targets')
      .values(toRow(row.id, newTarget(deviceId, now)))
      .execute();
  }
  return toRollout(row);
}

async function enrol(
  transaction: DatabaseTransaction,
  rolloutId: string,
  deviceId: string,
  now: number,
): Promise<boolean> {
  const insert = transaction.insertInto('firmware_targets').values(toRow(rolloutId, newTarget(deviceId, now)));
  const { numInsertedOrUpdatedRows } = await insert
    .onConflict((conflict) => conflict.columns(['rollout_id', 'device_id']).doNothing())
    .executeTakeFirstOrThrow();
  const isNew = numInsertedOrUpdatedRows === 1n;
  if (!isNew && !(await retryAfterFallback(transaction, rolloutId, deviceId, now))) return false;
  const running = { state: 'running' as const, ended_at: null };
  const update = transaction.updateTable('firmware_rollouts').set(running);
  await update.where('id', '=', rolloutId).where('state', '=', 'done').execute();
  return true;
}

type Transition = { id: string; from: readonly RolloutState[]; to: RolloutState; reason: string | null };

async function transition(
  transaction: DatabaseTransaction,
  { id, from, to, reason }: Transition,
  now: number,
): Promise<RolloutRecord | null> {
  const update = transaction
    .updateTable('firmware_rollouts')
    .set({ state: to, reason, ...endOf(to, now) })
    .where('id', '=', id)
    .where('state', 'in', [...from]);
  if ((await update.executeTakeFirst()).numUpdatedRows === 0n) return null;
  if (endings.includes(to)) await skipWaiting(transaction, [id], now);
  return first(rolloutsIn(transaction).where('id', '=', id));
}

type Saved = { before: Rollout; after: Rollout; changed: readonly Target[] };

async function save(
  transaction: DatabaseTransaction,
  { before, after, changed }: Saved,
  now: number,
): Promise<boolean> {
  const { state, wave, reason } = after;
  const ending = state !== before.state ? endOf(state, now) : {};
  const update = transaction
    .updateTable('firmware_rollouts')
    .set({ state, wave, reason, ...ending })
    .where('id', '=', before.id)
    .where('state', '=', before.state)
    .where('wave', '=', before.wave);
  if ((await update.executeTakeFirst()).numUpdatedRows === 0n) return false;
  for (const target of changed) {
    const { rollout_id, device_id, ...values } = toRow(before.id, target);
    const query = transaction.updateTable('firmware_targets').set(values);
    await query.where('rollout_id', '=', rollout_id).where('device_id', '=', device_id).execute();
  }
  return true;
}

async function readDevices(
  db: Database | DatabaseTransaction,
  name: string,
  { rolloutId, logged }: { rolloutId?: string | undefined; logged?: Pick<LoggedReports, 'over'> } = {},
): Promise<Map<string, DeviceFacts>> {
  const targets = db
    .selectFrom('firmware_targets')
    .select('device_id')
    .where('rollout_id', '=', rolloutId ?? '');
  const types = [name, parseFirmwareName(name).type];
  const rows = await db
    .selectFrom('devices')
    .select(['id', 'type', 'status', 'firmware_version', 'chip', 'last_seen_at'])
    .where((is) => is.or([is('type', 'in', types), is('id', 'in', targets)]))
    .where(isOwnDevice)
    .orderBy('id')
    .execute();
  const images = await db.selectFrom('firmware_images').select('type').distinct().execute();
  const names = new Set(images.map(({ type }) => type));
  return new Map(
    (logged?.over(rows) ?? rows).map((row) => {
      const { id, status, firmware_version: firmwareVersion, chip, last_seen_at: lastSeenAt } = row;
      const isServed = firmwareNamesOf(row).find((own) => names.has(own)) === name;
      return [id, { isOnline: status === 'online', firmwareVersion, chip, lastSeenAt, isServed }];
    }),
  );
}

/** Devices on which this version failed: the station does not retry it automatically. */
async function failedBefore(transaction: DatabaseTransaction, name: string, version: string): Promise<Set<string>> {
  const query = transaction
    .selectFrom('firmware_targets')
    .innerJoin('firmware_rollouts', 'firmware_rollouts.id', 'firmware_targets.rollout_id')
    .select('firmware_targets.device_id')
    .where('firmware_rollouts.type', '=', name)
    .where('firmware_rollouts.version', '=', version)
    .where('firmware_targets.state', '=', 'failed');
  return new Set((await query.execute()).map(({ device_id }) => device_id));
}

/** Counts a failure of a device that fell back after its update. Not when a later rollout gave it another version. */
async function retryAfterFallback(
  transaction: DatabaseTransaction,
  rolloutId: string,
  deviceId: string,
  now: number,
): Promise<boolean> {
  const rollouts = transaction.selectFrom('firmware_rollouts');
  const rollout = await rollouts.selectAll().where('id', '=', rolloutId).where('state', '=', 'done').executeTakeFirst();
  if (rollout === undefined) return false;
  const later = rollouts.select('id').where('type', '=', rollout.type).where('id', '>', rolloutId);
  const changedLater = transaction.selectFrom('firmware_targets').select('device_id').where('rollout_id', 'in', later);
  const isOthers = changedLater.where('device_id', '=', deviceId).where('state', 'in', ['updating', 'updated']);
  if ((await isOthers.executeTakeFirst()) !== undefined) return false;
  const own = transaction.selectFrom('firmware_targets').selectAll().where('rollout_id', '=', rolloutId);
  const row = await own.where('device_id', '=', deviceId).where('state', '=', 'updated').executeTakeFirst();
  if (row === undefined) return false;
  const failures = row.failures + 1;
  const isOver = failures >= toRollout(rollout).settings.maxFailures;
  const state = isOver ? ('failed' as const) : ('waiting' as const);
  const reason = 'It fell back to the previous firmware.';
  await transaction
    .updateTable('firmware_targets')
    .set({ state, failures, reason, phase: null, percent: null, not_before: now, changed_at: now })
    .where('rollout_id', '=', rolloutId)
    .where('device_id', '=', deviceId)
    .execute();
  return !isOver;
}

async function skipWaiting(transaction: DatabaseTransaction, ids: readonly string[], now: number): Promise<void> {
  const skipped = { state: 'skipped' as const, phase: null, percent: null, changed_at: now };
  const update = transaction
    .updateTable('firmware_targets')
    .set(skipped)
    .where('rollout_id', 'in', [...ids]);
  await update.where('state', '=', 'waiting').execute();
}

const endOf = (state: RolloutState, now: number): { ended_at?: number } =>
  endings.includes(state) ? { ended_at: now } : {};

function toRollout(row: FirmwareRolloutsTable): RolloutRecord {
  const { id, type: name, version, state, wave, reason } = row;
  const settings = JSON.parse(row.settings) as RolloutSettings;
  const { requested_by: requestedBy, created_at: createdAt, ended_at: endedAt } = row;
  return { id, name, version, state, settings, wave, reason, requestedBy, createdAt, endedAt };
}

const toTarget = (row: FirmwareTargetsTable): Target => ({
  deviceId: row.device_id,
  state: row.state,
  phase: row.phase,
  percent: row.percent,
  wave: row.wave,
  failures: row.failures,
  interruptions: row.interruptions,
  handshakes: row.handshakes,
  reason: row.reason,
  notBefore: row.not_before,
  startedAt: row.started_at,
  changedAt: row.changed_at,
});

const toRow = (rolloutId: string, target: Target): FirmwareTargetsTable => ({
  rollout_id: rolloutId,
  device_id: target.deviceId,
  state: target.state,
  phase: target.phase,
  percent: target.percent,
  wave: target.wave,
  failures: target.failures,
  interruptions: target.interruptions,
  handshakes: target.handshakes,
  reason: target.reason,
  not_before: target.notBefore,
  started_at: target.startedAt,
  changed_at: target.changedAt,
});
