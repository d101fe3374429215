import { nextTurn } from '@station/kit/timers';
import { sql } from 'kysely';
import { isoTime } from '@station/kit/clock';
import { csvLine } from '@station/protocol/csv';
import type { Store } from '../store/database.ts';
import { samplesOf, type Stretch } from '../history/downsampling.ts';
import { hourMs, intervalOf, type Transition } from '../history/history-decide.ts';

type Parts = Pick<Store, 'db' | 'kind'>;
type Field = string | number | null;

/** Rows that one statement reads; it blocks the process meanwhile. */
const rowsAtOnce = 2_000;
/** Samples are read by time, because rows hold up to a second of them. */
const sampleStepMs = hourMs;

/**
 * The history of a value as CSV (RFC 4180), in chunks of many lines: samples or transitions, before them hours. An hour has its start as
 * time, its average as value, and the number of its samples as count.
 */
export const historyLines = (parts: Parts, kind: 'number' | 'transitions', stretch: Stretch): AsyncGenerator<string> =>
  kind === 'number' ? numberLines(parts, stretch) : transitionLines(parts, stretch);

async function* numberLines(parts: Parts, stretch: Stretch): AsyncGenerator<string> {
  yield line(['time', 'value', 'lowest', 'highest', 'count']);
  const { deviceId, capability, fromMs, toMs } = stretch;
  const ofValue = sql`device_id = ${deviceId} and capability = ${capability}`;
  const first = await sql<{ at: number | null }>`
    select min(at) as at from device_samples where ${ofValue} and at >= ${fromMs}`.execute(parts.db);
  const firstMs = first.rows[0]?.at ?? toMs;
  const samplesFromMs = firstMs < toMs ? Math.max(fromMs, intervalOf(firstMs, hourMs)) : toMs;
  for (let from = intervalOf(fromMs, hourMs); ;) {
    const { rows } = await sql<{ hour: number; samples: number; total: number; lowest: number; highest: number }>`
      select hour, samples, total, lowest, highest from device_hours
      where ${ofValue} and hour >= ${from} and hour < ${samplesFromMs}
      order by hour limit ${sql.lit(rowsAtOnce)}`.execute(parts.db);
    yield rows
      .map((row) => line([isoTime(row.hour), row.total / row.samples, row.lowest, row.highest, row.samples]))
      .join('');
    if (rows.length < rowsAtOnce) break;
    from = rows.at(-1)!.hour + 1;
    await nextTurn();
  }
  for (let from = samplesFromMs; from < toMs; from = intervalOf(from, sampleStepMs) + sampleStepMs) {
    const until = Math.min(toMs, intervalOf(from, sampleStepMs) + sampleStepMs);
    const { rows } = await sql<{ at: number; value: number }>`
      select at, value from ${samplesOf(parts.kind, { ...stretch, fromMs: from, toMs: until })} order by at`.execute(
      parts.db,
    );
    yield rows.map(({ at, value }) => line([isoTime(at), value, value, value, 1])).join('');
    await nextTurn();
  }
}

async function* transitionLines(
  { db }: Parts,
  { deviceId, capability, fromMs, toMs }: Stretch,
): AsyncGenerator<string> {
  yield line(['time', 'value', 'share', 'changes', 'seconds']);
  for (let from = fromMs; ;) {
    const rows: Transition[] = await db
      .selectFrom('device_transitions')
      .select(['at', 'value', 'span', 'share', 'changes'])
      .where('device_id', '=', deviceId)
      .where('capability', '=', capability)
      .where('at', '>=', from)
      .where('at', '<', toMs)
      .orderBy('at')
      .limit(rowsAtOnce)
      .execute();
    yield rows.map((row) => line(transitionFields(row))).join('');
    if (rows.length < rowsAtOnce) return;
    from = rows.at(-1)!.at + 1;
    await nextTurn();
  }
}

function transitionFields({ at, value, share, changes, span }: Transition): Field[] {
  const given = value === null ? null : (JSON.parse(value) as boolean | string);
  return [isoTime(at), given === null ? null : String(given), share, changes ?? 1, span === null ? null : span / 1_000];
}

const line = (fields: readonly Field[]): string => `${csvLine(fields)}\r\n`;
