import { nextTurn } from '@station/kit/timers';
import { sql } from 'kysely';
import type { Store } from '../store/database.ts';
import type { DatabaseTransaction } from '../store/schema.ts';
import { replaceTransitions } from './device-transitions.ts';
import { statusCapability } from './transition-fold.ts';
import { deleteRows } from './history-rows.ts';
import { finestMs, hourMs, maxExactChanges, type Span, summarised, type Transition } from './history-decide.ts';
import { readGaps, readTransitions } from './history-reads.ts';

type Parts = Pick<Store, 'db' | 'kind'>;

/** An hour with more transitions of a value is summarised to the finest resolution as soon as it is over. */
const maxRowsOfHour = hourMs / finestMs;

/**
 * Keeps transitions small. A value that changes all the time is summarised to the finest resolution after each hour. Old hours with many
 * changes become one row, as samples become hours. It yields to the event loop between two statements, and is idempotent.
 * @param limits `beforeMs`: start of the unfinished hour. `exactFromMs`: older transitions become hours; start of an hour.
 */
export async function summariseTransitions(
  parts: Parts,
  { beforeMs, exactFromMs }: { beforeMs: number; exactFromMs: number },
  signal?: AbortSignal,
): Promise<void> {
  const work = [
    { ...(await stretchTodo(parts, 'recent', exactFromMs)), toMs: beforeMs, spanMs: finestMs, maxRows: maxRowsOfHour },
    { ...(await stretchTodo(parts, 'old', 0)), toMs: exactFromMs, spanMs: hourMs, maxRows: maxExactChanges },
  ];
  for (const { name, fromMs, toMs, spanMs, maxRows } of work) {
    for (
      let hour = await nextHour(parts, fromMs);
      hour !== null && hour < toMs;
      hour = await nextHour(parts, hour + hourMs)
    ) {
      for (const value of await busyValues(parts, hour, maxRows)) {
        await nextTurn();
        if (signal?.aborted) return;
        await summarise(parts, value, { fromMs: hour, toMs: hour + hourMs }, spanMs);
      }
      await nextTurn();
      if (signal?.aborted) return;
    }
    await remember(parts, name, toMs);
  }
}

type Progress = 'recent' | 'old';
const settingOf = (name: Progress): string => `history.summarised.${name}`;

async function stretchTodo(
  { db }: Parts,
  name: Progress,
  leastMs: number,
): Promise<{ name: Progress; fromMs: number }> {
  const row = await db.selectFrom('settings').select('value').where('key', '=', settingOf(name)).executeTakeFirst();
  // The hour before again: a backend that was stopped there may have written more.
  return { name, fromMs: Math.max(leastMs, Number(row?.value ?? 0) - hourMs) };
}

async function remember({ db }: Parts, name: Progress, toMs: number): Promise<void> {
  const values = { value: String(toMs), updated_at: toMs };
  await db
    .insertInto('settings')
    .values({ key: settingOf(name), ...values })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(values))
    .execute();
}

async function nextHour({ db }: Parts, fromMs: number): Promise<number | null> {
  const query = sql<{ at: number | null }>`select min(at) as at from device_transitions where at >= ${fromMs}`;
  const at = (await query.execute(db)).rows[0]?.at ?? null;
  return at === null ? null : at - (at % hourMs);
}

type Value = { deviceId: string; capability: string };

async function busyValues({ db }: Parts, hour: number, maxRows: number): Promise<Value[]> {
  const { rows } = await sql<Value>`
    select device_id as "deviceId", capability from device_transitions
    where at >= ${hour} and at < ${hour + hourMs} and capability <> ${statusCapability}
    group by device_id, capability
    having sum(coalesce(changes, 1)) > ${maxRows} and count(*) > 1`.execute(db);
  return rows;
}

/** Read at a time: in an hour a device may change a value a million times, which is too much for the memory. */
const windowMs = 60_000;

async function summarise(parts: Parts, value: Value, hour: Span, spanMs: number): Promise<void> {
  const gaps = await readGaps(parts, { ...value, ...hour });
  await parts.db.transaction().execute(async (transaction) => {
    const width = Math.max(spanMs, windowMs);
    /** Before the span, as it was reported: what stands there now may be a summary. */
    let held: Transition | null = null;
    for (let fromMs = hour.fromMs; fromMs < hour.toMs; fromMs += width) {
      const window = { fromMs, toMs: Math.min(fromMs + width, hour.toMs) };
      const read = await readTransitions({ ...parts, db: transaction }, { ...value, ...window });
      const isBefore = (read[0]?.at ?? Infinity) < fromMs;
      if (isBefore && fromMs === hour.fromMs) held = read[0] ?? null;
      const rows = isBefore ? read.slice(1) : read;
      held = await summariseSpans({ ...parts, db: transaction }, { value, window, spanMs, held, rows, gaps });
    }
  });
}

type Window = {
  value: Value;
  window: Span;
  spanMs: number;
  held: Transition | null;
  rows: readonly Transition[];
  gaps: readonly Span[];
};

/** @returns the last transition. */
async function summariseSpans(
  { db, kind }: { db: DatabaseTransaction; kind: Parts['kind'] },
  { value, window, spanMs, held: before, rows: read, gaps }: Window,
): Promise<Transition | null> {
  let held = before;
  let index = 0;
  for (let { fromMs } = window; fromMs < window.toMs; fromMs += spanMs) {
    const first = index;
    while ((read[index]?.at ?? Infinity) < fromMs + spanMs) index++;
    const inside = read.slice(first, index);
    const rows = summarised({ fromMs, toMs: fromMs + spanMs }, held, inside, gaps);
    held = inside.at(-1) ?? held;
    if (rows !== null) await replaceTransitions(db, kind, { ...value, fromMs, toMs: fromMs + spanMs }, rows);
  }
  return held;
}

/**
 * Deletes transitions before a time, except the one that holds at it. Whoever deletes transitions keeps the latest of each value: without it
 * nothing is known until the next change.
 */
export async function deleteOldTransitions(parts: Parts, beforeMs: number, signal?: AbortSignal): Promise<void> {
  const isEnded = sql`exists (
    select 1 from device_transitions as later
    where later.device_id = device_transitions.device_id and later.capability = device_transitions.capability
      and later.at > device_transitions.at and later.at <= ${beforeMs})`;
  await deleteRows(parts, 'device_transitions', sql`at < ${beforeMs} and ${isEnded}`, signal);
}
