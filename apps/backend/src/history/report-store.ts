import { sql } from 'kysely';
import type { DeviceReport, Written } from '../core/device-events.ts';
import { countReports } from './device-storage.ts';
import { insertTransitions } from './device-transitions.ts';
import { type DeviceChange, type FoldedReports, foldReports, jsonRows, type StoredState } from './fold-reports.ts';
import type { Database, DatabaseKind as Kind, DatabaseTransaction } from '../store/schema.ts';

/** Writes further rows in the transaction of a batch, before the devices are updated. */
export type WriteAlong = (transaction: DatabaseTransaction, kind: Kind, folded: FoldedReports) => Promise<void>;

/**
 * Writes a batch of reports in one transaction with at most eight statements, whatever its size. It leaves out reports of devices that were removed
 * meanwhile. Resolved means on disk.
 * @param newId of events; see `createEventIds`.
 * @param writeAlong further writes of the same transaction.
 * @returns also the states before, so that changes are known exactly, whichever replica wrote last.
 */
export async function writeReports(
  { db, kind }: { db: Database; kind: Kind },
  reports: readonly DeviceReport[],
  newId: () => string,
  writeAlong?: WriteAlong,
): Promise<Written> {
  const writing: WritesWith = { kind, newId, writeAlong };
  return db.transaction().execute((transaction) => writeReportsIn(transaction, reports, writing));
}

export type WritesWith = { kind: Kind; newId: () => string; writeAlong: WriteAlong | undefined };

/** As {@link writeReports}, within a transaction. */
export async function writeReportsIn(
  transaction: DatabaseTransaction,
  reports: readonly DeviceReport[],
  { kind, newId, writeAlong }: WritesWith,
): Promise<Written> {
  const found = await readStates(transaction, kind, reports);
  const folded = foldReports(reports, found, newId);
  await writeAlong?.(transaction, kind, folded);
  const transitions = await insertTransitions(transaction, kind, folded.transitions);
  await updateDevices(transaction, kind, folded.changes);
  await insertEvents(transaction, kind, folded);
  await insertSamples(transaction, kind, folded);
  await countReports(transaction, kind, folded, transitions);
  return writtenOf(folded, found);
}

export function writtenOf({ taken, cut }: FoldedReports, found: ReadonlyMap<string, FoundState>): Written {
  const before = new Map(found.values().map(({ id, state }) => [id, state]));
  return { reports: taken, before, cut: externalIds(cut, found), cutIds: cut };
}

export type FoundState = StoredState & { id: string; external_id: string };

/**
 * States of the devices that report one. PostgreSQL locks the rows until they are written, always in the same order, so that replicas wait
 * for each other and neither lose a value nor deadlock.
 */
export async function readStates(
  transaction: Database | DatabaseTransaction,
  kind: Kind,
  reports: readonly DeviceReport[],
): Promise<ReadonlyMap<string, FoundState>> {
  const ids = new Set<string>();
  for (const report of reports) if (report.kind === 'state') ids.add(report.deviceId);
  if (ids.size === 0) return new Map();
  const given = jsonRows(
    kind,
    Array.from(ids, (id) => ({ id })),
    { id: 'text' },
  );
  const lock = kind === 'postgres' ? sql`order by devices.id for update of devices` : sql``;
  const query = sql<FoundState>`
    select devices.id, devices.external_id, devices.state, devices.state_at, devices.value_times from devices join ${given} on given.id = devices.id ${lock}`;
  return new Map((await query.execute(transaction)).rows.map((row) => [row.id, row]));
}

export const externalIds = (ids: readonly string[], found: ReadonlyMap<string, { external_id: string }>): string[] =>
  ids.flatMap((id) => found.get(id)?.external_id ?? []);

/** States may have waited this long (ADR 80); what was written at once meanwhile is newer. After a longer time the clock was set back. */
const waitedMs = 60 * 60_000;

export async function updateDevices(
  transaction: DatabaseTransaction,
  kind: Kind,
  changes: DeviceChange[],
): Promise<void> {
  if (changes.length === 0) return;
  const rows = changes.map((change) => ({
    ...change,
    state: change.state === null ? null : JSON.stringify(change.state),
  }));
  const given = jsonRows(kind, rows, {
    id: 'text',
    lastSeenAt: 'bigint',
    state: 'text',
    stateAt: 'bigint',
    valueTimes: 'text',
    fault: 'text',
    status: 'text',
    statusAt: 'bigint',
    firmwareVersion: 'text',
    chip: 'text',
    kitTag: 'text',
  });
  await sql`
    update devices set
      last_seen_at = case
        when devices.last_seen_at > given."lastSeenAt" and devices.last_seen_at < given."lastSeenAt" + ${sql.lit(waitedMs)}
        then devices.last_seen_at else coalesce(given."lastSeenAt", devices.last_seen_at) end,
      state = coalesce(given.state, devices.state),
      state_at = coalesce(given."stateAt", state_at),
      value_times = nullif(coalesce(given."valueTimes", devices.value_times), ''),
      fault = nullif(coalesce(given.fault, devices.fault), ''),
      status_at = case when given.status <> devices.status then given."statusAt" else status_at end,
      status = coalesce(given.status, devices.status),
      firmware_version = coalesce(given."firmwareVersion", firmware_version),
      chip = coalesce(given.chip, devices.chip),
      kit_tag = coalesce(given."kitTag", kit_tag)
    from ${given} where devices.id = given.id`.execute(transaction);
}

export async function insertEvents(
  transaction: DatabaseTransaction,
  kind: Kind,
  { events }: FoldedReports,
): Promise<void> {
  if (events.length === 0) return;
  const columns = { id: 'text', deviceId: 'text', kind: 'text', data: 'text', at: 'bigint' } as const;
  await sql`
    insert into device_events (id, device_id, kind, data, at)
    select given.id, given."deviceId", given.kind, given.data, given.at
    from ${jsonRows(kind, events, columns)} join devices on devices.id = given."deviceId"`.execute(transaction);
}

export async function insertSamples(
  transaction: DatabaseTransaction,
  kind: Kind,
  { samples }: FoldedReports,
): Promise<void> {
  if (samples.length === 0) return;
  const columns = {
    deviceId: 'text',
    capability: 'text',
    at: 'bigint',
    value: 'double precision',
    later: 'text',
  } as const;
  await sql`
    insert into device_samples (device_id, capability, at, value, later)
    select given."deviceId", given.capability, given.at, given.value, given.later
    from ${jsonRows(kind, samples, columns)} join devices on devices.id = given."deviceId"
    where true
    on conflict (device_id, capability, at) do update set value = excluded.value, later = case
      when excluded.later is null then device_samples.later
      when device_samples.later is null then excluded.later
      else substr(device_samples.later, 1, length(device_samples.later) - 1) || ',' || substr(excluded.later, 2)
    end`.execute(transaction);
}
