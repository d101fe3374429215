import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { sql } from 'kysely';
import type { DeviceReport, Written } from '../core/device-events.ts';
import { storageFaultOf } from '../core/storage-faults.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { Store } from '../store/database.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import { type FoldedReports, foldReports } from './fold-reports.ts';
import {
  type FoundState,
  readStates,
  type WriteAlong,
  writeReports,
  writeReportsIn,
  writtenOf,
} from './report-store.ts';

export type ReportLog = {
  /**
   * Takes a batch that may wait: everybody learns of it now, and the next `write` brings it to the disk. Null: it must be written, because
   * its sender waits, a value that is no number changed, or too much waits already.
   */
  take(reports: readonly DeviceReport[]): Promise<Written | null>;
  /** Writes a batch and everything that was taken, as a whole or not at all. Resolved means on disk. The batch may be empty. */
  write(reports: readonly DeviceReport[]): Promise<Written>;
};

type LogParts = {
  store: Pick<Store, 'db' | 'kind' | 'logged'>;
  /** Times that may still be corrected are not logged. */
  trustedTime: Pick<TrustedTime, 'unsureSince'>;
  /** Makes the ids of events. */
  newId: () => string;
  writeAlong: WriteAlong | undefined;
  clock: Pick<Clock, 'monotonic'>;
  logger: BackendLogger;
};

/** Values wait so long for their tables: the longer, the more of them share a page there. */
const settleAfterMs = 30 * 60_000;
/** As many as one transaction writes without blocking others for long. */
const mostReports = 4_000;
/** 4 MB. */
const mostSlots = 1_000;
/** A row of this size has a page of 4 KiB to itself, and stays in it: writing it again changes this page only. */
const slotBytes = 4_000;
/** Larger batches share so many pages that the log saves nothing. */
const directFrom = 200;
/** States of so many bytes are kept in memory beside their devices. */
const mostStateBytes = 4 * 1024 * 1024;

type State = {
  parts: LogParts;
  /** What is newer than the tables, of devices with reports in the log or among the taken. */
  found: Map<string, FoundState>;
  /** Not on disk yet. */
  taken: DeviceReport[];
  /** Of the next row. */
  seq: number;
  slot: number;
  /** In the log. */
  reports: number;
  stateBytes: number;
  /** Monotonic; null: the log is empty. */
  sinceMs: number | null;
};

/**
 * States of devices go to a log that is only ever written at its end, one page at a time, and from there into their tables, many at a time
 * (ADR 80). Everything else is written at once. For one backend on SQLite. What an earlier run logged is moved to the tables, now or later.
 */
export async function openReportLog(parts: LogParts): Promise<ReportLog> {
  const { store } = parts;
  const state: State = {
    parts,
    found: new Map(),
    taken: [],
    seq: 1,
    slot: 1,
    reports: 0,
    stateBytes: 0,
    sinceMs: null,
  };
  const { run } = createExclusiveRunner();
  store.logged.attach(() => run(() => settle(state)));
  await resume(state);
  return {
    take: (reports) => run(() => take(state, reports)),
    write: (reports) => run(() => write(state, reports)),
  };
}

async function take(state: State, reports: readonly DeviceReport[]): Promise<Written | null> {
  const mayWait = reports.every((report) => report.kind === 'state' && report.mayWait === true);
  if (!mayWait || state.taken.length + reports.length >= directFrom || isUnsure(state)) return null;
  const found = await findStates(state, reports);
  const folded = foldReports(reports, found, noId);
  if (folded.transitions.length > 0) return null;
  state.taken.push(...folded.taken);
  remember(state, folded, found);
  return writtenOf(folded, found);
}

async function write(state: State, reports: readonly DeviceReport[]): Promise<Written> {
  const { store, newId, writeAlong } = state.parts;
  if (reports.length >= directFrom || isUnsure(state)) {
    await settle(state);
    return writeReports(store, reports, newId, writeAlong);
  }
  const found = await findStates(state, reports);
  const folded = foldReports(reports, found, noId);
  const logged = [...state.taken, ...folded.taken.filter(isState)];
  const others = folded.taken.filter((report) => !isState(report));
  const rows = rowsOf(logged);
  if (logged.length > 0 || others.length > 0) {
    await store.db.transaction().execute(async (transaction) => {
      await addRows(transaction, rows, state);
      if (others.length > 0) await writeReportsIn(transaction, others, { kind: store.kind, newId, writeAlong });
    });
  }
  state.taken = [];
  state.seq += rows.length;
  state.slot += rows.length;
  state.reports += logged.length;
  if (logged.length > 0) state.sinceMs ??= state.parts.clock.monotonic();
  remember(state, folded, found);
  // The batch is on disk, whatever comes of this.
  if (isDue(state)) await settle(state).catch((error: unknown) => state.parts.logger.failed('settling reports', error));
  return writtenOf(folded, found);
}

/** Moves the log and what was taken into the tables, in one transaction. */
async function settle(state: State): Promise<void> {
  const { store, newId, writeAlong, logger } = state.parts;
  const rows = await readRows(store.db);
  const writing = { kind: store.kind, newId, writeAlong };
  const all = [...rows.flatMap(({ reports }) => reports), ...state.taken];
  const upTo = state.seq - 1;
  const move = async (transaction: DatabaseTransaction): Promise<void> => {
    await writeReportsIn(transaction, all, writing);
    await markSettled(transaction, upTo);
  };
  if (all.length > 0) {
    await store.db
      .transaction()
      .execute(move)
      .catch(async (error: unknown) => {
        if (storageFaultOf(error) !== null) throw error;
        logger.failed('settling reports', error);
        await moveOneByOne(state, all, upTo);
      });
  }
  state.taken = [];
  state.slot = 1;
  state.reports = 0;
  state.sinceMs = null;
  forget(state);
}

/** One that no table takes must not keep back the others. What ends this in the middle repeats some of them and loses none. */
async function moveOneByOne({ parts }: State, reports: readonly DeviceReport[], upTo: number): Promise<void> {
  const { store, newId, writeAlong, logger } = parts;
  const writing = { kind: store.kind, newId, writeAlong };
  for (const report of reports) {
    await store.db
      .transaction()
      .execute((transaction) => writeReportsIn(transaction, [report], writing))
      .catch((error: unknown) => {
        if (storageFaultOf(error) !== null) throw error;
        logger.failed('a report', error);
      });
  }
  await store.db.transaction().execute((transaction) => markSettled(transaction, upTo));
}

/** What an earlier run left is in memory as if it had just been logged, so that nothing must be written to start. */
async function resume(state: State): Promise<void> {
  const { store, clock, logger } = state.parts;
  const rows = await readRows(store.db);
  const last = await store.db
    .selectFrom('report_log')
    .select(({ fn }) => [fn.max('seq').as('seq'), fn.max('slot').as('slot')])
    .executeTakeFirst();
  state.seq = (last?.seq ?? 0) + 1;
  if (rows.length === 0) return;
  state.slot = (last?.slot ?? 0) + 1;
  state.sinceMs = clock.monotonic();
  for (const { reports } of rows) {
    const found = await findStates(state, reports);
    remember(state, foldReports(reports, found, noId), found);
    state.reports += reports.length;
  }
  // A station whose disk is full must start; a later write tries again.
  await settle(state).catch((error: unknown) => logger.failed('settling reports', error));
}

const isState = (report: DeviceReport): boolean => report.kind === 'state';
const isUnsure = ({ parts }: State): boolean => parts.trustedTime.unsureSince() !== null;
const noId = (): string => '';

const isDue = ({ parts, sinceMs, reports, slot, stateBytes }: State): boolean =>
  reports >= mostReports ||
  slot > mostSlots ||
  stateBytes > mostStateBytes ||
  (sinceMs !== null && parts.clock.monotonic() - sinceMs >= settleAfterMs);

/** States of the devices that report one: from memory, where they are newer than the table. */
async function findStates(state: State, reports: readonly DeviceReport[]): Promise<Map<string, FoundState>> {
  const found = new Map<string, FoundState>();
  const missing: DeviceReport[] = [];
  for (const report of reports) {
    const known = state.found.get(report.deviceId);
    if (known !== undefined) found.set(report.deviceId, known);
    else missing.push(report);
  }
  for (const [id, row] of await readStates(state.parts.store.db, 'sqlite', missing)) found.set(id, row);
  return found;
}

/** What a batch changed is newer than the tables now. */
function remember(state: State, { changes }: FoldedReports, found: ReadonlyMap<string, FoundState>): void {
  const { latest } = state.parts.store.logged;
  for (const { id, lastSeenAt, state: values, stateAt, valueTimes } of changes) {
    const before = found.get(id);
    const known = latest.get(id);
    if (known !== undefined && lastSeenAt !== null) known.last_seen_at = lastSeenAt;
    if (before === undefined || values === null) continue;
    const row = {
      state: JSON.stringify(values),
      state_at: stateAt,
      value_times: valueTimes === '' ? null : valueTimes,
    };
    state.stateBytes += row.state.length - (known?.state.length ?? 0);
    state.found.set(id, { ...before, ...row });
    latest.set(id, { ...row, last_seen_at: lastSeenAt });
  }
}

function forget(state: State): void {
  state.found.clear();
  state.stateBytes = 0;
  state.parts.store.logged.latest.clear();
}

/** JSON of as many reports as fit into a slot; a large one has a longer row. */
function rowsOf(reports: readonly DeviceReport[]): string[] {
  const rows: string[] = [];
  let texts: string[] = [];
  let bytes = 0;
  const end = (): void => {
    if (texts.length > 0) rows.push(`[${texts.join(',')}]`.padEnd(slotBytes));
    texts = [];
    bytes = 0;
  };
  for (const report of reports) {
    const text = JSON.stringify({ ...report, mayWait: undefined });
    const length = Buffer.byteLength(text) + 2;
    if (bytes + length > slotBytes) end();
    texts.push(text);
    bytes += length;
  }
  end();
  return rows;
}

async function addRows(
  transaction: DatabaseTransaction,
  rows: readonly string[],
  { seq, slot }: Pick<State, 'seq' | 'slot'>,
): Promise<void> {
  for (const [index, reports] of rows.entries()) {
    await sql`
      insert into report_log (slot, seq, reports) values (${slot + index}, ${seq + index}, ${reports})
      on conflict (slot) do update set seq = excluded.seq, reports = excluded.reports`.execute(transaction);
  }
}

const markSettled = async (transaction: DatabaseTransaction, seq: number): Promise<void> => {
  await sql`
    insert into report_log (slot, seq, reports) values (0, ${seq}, '[]')
    on conflict (slot) do update set seq = excluded.seq`.execute(transaction);
};

type LogRow = { reports: DeviceReport[] };

/** In the order in which they were written. */
async function readRows(db: Database): Promise<LogRow[]> {
  const { rows } = await sql<{ reports: string }>`
    select reports from report_log
    where slot > 0 and seq > coalesce((select seq from report_log where slot = 0), 0) order by seq`.execute(db);
  return rows.map(({ reports }) => ({ reports: JSON.parse(reports) as DeviceReport[] }));
}
