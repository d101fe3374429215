import { sql } from 'kysely';
import { ownValue, setOwnValue } from '@station/protocol/own-value';
import type { DeviceReport, Written } from '../core/device-events.ts';
import { countReports } from '../history/device-storage.ts';
import { sampleRows } from '../history/device-samples.ts';
import { insertTransitions } from '../history/device-transitions.ts';
import { type FoldedReports, foldReports, jsonRows, type StoredState } from '../history/fold-reports.ts';
import { externalIds, insertEvents, insertSamples, updateDevices, type WriteAlong } from '../history/report-store.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';

type DeviceFacts = StoredState & {
  id: string;
  external_id: string;
  state_times: string | null;
  last_seen_at: number | null;
};

/**
 * Writes a batch of reports while other replicas write too, in one transaction. It leaves outdated values out of the state. Only the leader
 * sets a device offline, on facts that are still valid. All replicas lock rows in the same order.
 * @param writeAlong further writes of the same transaction.
 * @param mayDecide whether this replica still leads; checked within the transaction.
 * @param announce sends the written reports to the others, within the transaction.
 */
export async function writeSharedReports(options: {
  db: Database;
  reports: readonly DeviceReport[];
  newId: () => string;
  writeAlong: WriteAlong | undefined;
  mayDecide: (transaction: DatabaseTransaction) => Promise<boolean>;
  announce: (transaction: DatabaseTransaction, written: Written) => Promise<void>;
}): Promise<Written> {
  const { db, reports, newId } = options;
  return db.transaction().execute(async (transaction) => {
    const decided = reports.some(isOffline) && (await options.mayDecide(transaction));
    const facts = await lockDevices(transaction, reports);
    const valid = reports.filter((report) => !isOffline(report) || (decided && stillHolds(report, facts)));
    const times = new Map(facts.values().map(({ id, state_times: kept }) => [id, parseTimes(kept)]));
    const ordered = inOrder(valid, times);
    const folded = foldReports(ordered, facts, newId);
    // Outdated reports still count as events and samples, except values over the limits of the state.
    const hasRoom = roomAfter(folded);
    folded.samples = sampleRows(valid).filter(({ deviceId, capability }) => hasRoom(deviceId, capability));
    await options.writeAlong?.(transaction, 'postgres', folded);
    const transitions = await insertTransitions(transaction, 'postgres', folded.transitions);
    await updateDevices(transaction, 'postgres', folded.changes);
    const stated = folded.changes.filter(({ state }) => state !== null).map(({ id }) => id);
    await keepTimes(transaction, stated, times, hasRoom);
    await insertEvents(transaction, 'postgres', folded);
    await insertSamples(transaction, 'postgres', folded);
    await countReports(transaction, 'postgres', folded, transitions);
    const before = new Map(stated.flatMap((id) => (facts.has(id) ? [[id, facts.get(id)!.state]] : [])));
    const written = { reports: folded.taken, before, cut: externalIds(folded.cut, facts), cutIds: folded.cut };
    await options.announce(transaction, written);
    return written;
  });
}

type HasRoom = (deviceId: string, capability: string) => boolean;

function roomAfter({ changes, cut }: FoldedReports): HasRoom {
  const states = new Map(changes.map(({ id, state }) => [id, state]));
  const ids = new Set(cut);
  return (id, capability) => !ids.has(id) || Object.hasOwn(states.get(id) ?? {}, capability);
}

type OfflineReport = Extract<DeviceReport, { kind: 'status' }>;
const isOffline = (report: DeviceReport): report is OfflineReport =>
  report.kind === 'status' && report.status === 'offline';

/** Whether no message of the device arrived after the leader decided. */
function stillHolds({ deviceId, quietSince }: OfflineReport, facts: ReadonlyMap<string, DeviceFacts>): boolean {
  const seen = facts.get(deviceId)?.last_seen_at ?? null;
  return seen === null || quietSince === undefined || seen <= quietSince;
}

async function lockDevices(
  transaction: DatabaseTransaction,
  reports: readonly DeviceReport[],
): Promise<Map<string, DeviceFacts>> {
  const ids = [...new Set(reports.map(({ deviceId }) => deviceId))];
  const given = jsonRows(
    'postgres',
    ids.map((id) => ({ id })),
    { id: 'text' },
  );
  const { rows } = await sql<DeviceFacts>`
    select devices.id, devices.external_id, devices.state, devices.state_at, devices.value_times, devices.state_times,
      devices.last_seen_at
    from devices join ${given} on given.id = devices.id
    order by devices.id for no key update of devices`.execute(transaction);
  return new Map(rows.map((row) => [row.id, row]));
}

async function keepTimes(
  transaction: DatabaseTransaction,
  ids: readonly string[],
  times: ReadonlyMap<string, StateTimes>,
  hasRoom: HasRoom,
): Promise<void> {
  const rows = ids.flatMap((id) => {
    const kept = Object.entries(times.get(id) ?? {}).filter(([capability]) => hasRoom(id, capability));
    return times.has(id) ? [{ id, times: JSON.stringify(Object.fromEntries(kept)) }] : [];
  });
  if (rows.length === 0) return;
  await sql`
    update devices set state_times = given.times
    from ${jsonRows('postgres', rows, { id: 'text', times: 'text' })} where devices.id = given.id`.execute(transaction);
}

/** Unreadable times count as none, like an unreadable state. */
function parseTimes(text: string | null): StateTimes {
  try {
    // Without a prototype: a capability may be called `constructor`.
    return Object.assign(Object.create(null) as StateTimes, text === null ? {} : (JSON.parse(text) as StateTimes));
  } catch {
    return {};
  }
}

/** When each capability of a device was reported last, milliseconds since the epoch. */
export type StateTimes = Record<string, number>;

/** A time further in the future was written while the database's clock was wrong. */
const maxAheadMs = 10 * 60_000;

/**
 * Removes outdated values from reports: states of one device arrive over several replicas. A report that may have waited counts from its
 * earliest possible send time, others from their time of receipt. Pure, except that it updates `times`.
 * @param times by device; reports of other devices are unchanged.
 */
export function inOrder(reports: readonly DeviceReport[], times: ReadonlyMap<string, StateTimes>): DeviceReport[] {
  return reports.flatMap((report) => {
    const known = times.get(report.deviceId);
    if (report.kind !== 'state' || known === undefined) return [report];
    const at = report.sentAt ?? report.at;
    const newer = Object.entries(report.state).filter(([capability]) => {
      const aheadMs = (ownValue(known, capability) ?? -Infinity) - at;
      return aheadMs <= 0 || aheadMs > maxAheadMs;
    });
    for (const [capability] of newer) setOwnValue(known, capability, at);
    const isWhole = newer.length === Object.keys(report.state).length;
    if (isWhole) return [report];
    return newer.length === 0 ? [] : [{ ...report, state: Object.fromEntries(newer) }];
  });
}
