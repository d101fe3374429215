import { type Selectable, sql } from 'kysely';
import { readState } from '../core/device-state.ts';
import { readValueTimes } from '../core/value-times.ts';
import { countTransitions, historyTables, transitionBytes } from './device-storage.ts';
import { jsonRows } from './fold-reports.ts';
import type { Database, DatabaseTransaction, Schema } from '../store/schema.ts';
import { floodStepMs, statusCapability, type TransitionRow, transitionValue } from './transition-fold.ts';

type Kind = 'sqlite' | 'postgres';

/**
 * Before the devices are updated: their stored status decides about the first status of the batch.
 * @returns bytes that were added, by device.
 */
export async function insertTransitions(
  transaction: DatabaseTransaction,
  kind: Kind,
  transitions: readonly TransitionRow[],
): Promise<Map<string, number>> {
  const added = new Map<string, number>();
  if (transitions.length === 0) return added;
  const columns = {
    deviceId: 'text',
    capability: 'text',
    at: 'bigint',
    value: 'text',
    unsure: 'bigint',
    step: 'bigint',
    place: 'bigint',
  } as const;
  const known = sql`
    from device_transitions as known where known.device_id = given."deviceId" and known.capability = given.capability`;
  // A later row is the end of a step, or from before the clock was set back a little: what holds now takes its place.
  const at = sql`coalesce(
    (select max(known.at) ${known} and known.at >= given.at and known.at < given.at + ${sql.lit(floodStepMs)}),
    case when given.step > 1 and exists (select 1 ${known} and known.at > given.at - given.step and known.at < given.at)
      then given.at - given.at % given.step + given.step - 1 else given.at end)`;
  const { rows } = await sql<PlacedRow>`
    select "deviceId", capability, at, value, (
      select coalesce(octet_length(same.value), 0) from device_transitions as same
      where same.device_id = "deviceId" and same.capability = ranked.capability and same.at = ranked.at) as "replacedBytes"
    from (
      select "deviceId", capability, at, value,
        row_number() over (partition by "deviceId", capability, at order by place desc) as latest
      from (
        select given."deviceId", given.capability, given.value, given.place, ${at} as at
        from ${jsonRows(kind, transitions, columns)} join devices on devices.id = given."deviceId"
        where given.unsure = 0 or given.value <> '"' || devices.status || '"'
      ) as placed
    ) as ranked where latest = 1`.execute(transaction);
  if (rows.length === 0) return added;
  const stored = { deviceId: 'text', capability: 'text', at: 'bigint', value: 'text' } as const;
  await sql`
    insert into device_transitions (device_id, capability, at, value)
    select "deviceId", capability, at, value from ${jsonRows(kind, rows, stored)} where true
    on conflict (device_id, capability, at) do update
    set value = excluded.value, span = null, share = null, changes = null`.execute(transaction);
  for (const { deviceId, capability, value, replacedBytes } of rows) {
    const bytes =
      replacedBytes === null ? transitionBytes(capability, value) : Buffer.byteLength(value ?? '') - replacedBytes;
    added.set(deviceId, (added.get(deviceId) ?? 0) + bytes);
  }
  return added;
}

/** `replacedBytes`: of the value of the row whose place it takes; null: it is a new row. */
type PlacedRow = {
  deviceId: string;
  capability: string;
  at: number;
  value: string | null;
  replacedBytes: number | null;
};

/** Transitions from `fromMs` to before `toMs` are replaced by fewer ones, in the given transaction. */
export async function replaceTransitions(
  transaction: DatabaseTransaction,
  kind: Kind,
  { deviceId, capability, fromMs, toMs }: { deviceId: string; capability: string; fromMs: number; toMs: number },
  rows: readonly Omit<Selectable<Schema['device_transitions']>, 'device_id' | 'capability'>[],
): Promise<void> {
  const { rows: deleted } = await sql<{ bytes: number }>`
    delete from device_transitions
    where device_id = ${deviceId} and capability = ${capability} and at >= ${fromMs} and at < ${toMs}
    returning ${historyTables.transitions.bytes} as bytes`.execute(transaction);
  let bytes = 0;
  for (const row of deleted) bytes -= row.bytes;
  for (const row of rows) {
    // A transition at the very end of the span is a real one.
    const result = await transaction
      .insertInto('device_transitions')
      .values({ device_id: deviceId, capability, ...row })
      .onConflict((conflict) => conflict.doNothing())
      .returning('at')
      .execute();
    if (result.length > 0) bytes += transitionBytes(capability, row.value);
  }
  await countTransitions(transaction, kind, new Map([[deviceId, bytes]]));
}

/**
 * Writes a transition for each value of a device's state that does not follow from its transitions: an older release ran meanwhile, the
 * clock was set back, or the transitions were deleted. One device at a time; it is idempotent.
 */
export async function completeTransitions({ db, kind }: { db: Database; kind: Kind }): Promise<void> {
  const ids = await db.selectFrom('devices').select('id').orderBy('id').execute();
  for (const { id } of ids) await db.transaction().execute((transaction) => completeDevice(transaction, kind, id));
}

async function completeDevice(transaction: DatabaseTransaction, kind: Kind, deviceId: string): Promise<void> {
  const query = transaction.selectFrom('devices').selectAll().where('id', '=', deviceId);
  const device = await (kind === 'postgres' ? query.forUpdate() : query).executeTakeFirst();
  if (device === undefined) return;
  const times = readValueTimes(device.value_times);
  const expected: { capability: string; value: string; at: number | null }[] = [];
  for (const [capability, value] of Object.entries(readState(device.state))) {
    const text = transitionValue(value);
    if (text !== null) expected.push({ capability, value: text, at: times.get(capability) ?? device.state_at });
  }
  if (device.status !== 'unknown') {
    expected.push({ capability: statusCapability, value: JSON.stringify(device.status), at: device.status_at });
  }
  if (expected.length === 0) return;
  const given = jsonRows(kind, expected, { capability: 'text' });
  const { rows } = await sql<{ capability: string; at: number; value: string | null; span: number | null }>`
    select capability, at, value, span from device_transitions
    where device_id = ${deviceId} and at = (
      select max(last.at) from device_transitions as last
      where last.device_id = device_transitions.device_id and last.capability = device_transitions.capability
    ) and capability in (select given.capability from ${given})`.execute(transaction);
  const last = new Map(rows.map((row) => [row.capability, row]));
  const missing = expected.flatMap(({ capability, value, at }): TransitionRow[] => {
    const known = last.get(capability);
    if (at === null || (known?.span === null && known.value === value)) return [];
    return [{ deviceId, capability, at: Math.max(at, (known?.at ?? at - 1) + 1), value, unsure: 0, step: 1, place: 0 }];
  });
  await countTransitions(transaction, kind, await insertTransitions(transaction, kind, missing));
}
