import { sql } from 'kysely';
import { largestSample } from './device-samples.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';

type Parts = { db: Database };
type Value = { deviceId: string; capability: string };
/** `toMs` is exclusive. */
type Stretch = Value & { fromMs: number; toMs: number };
const hourMs = 60 * 60 * 1000;

/** A deleted row of `device_samples`. */
export type DeletedSample = { at: number; value: number; later: string | null };

/**
 * Keeps the sum of deleted samples for their hour, in the transaction that deletes them: what is not summed up is never lost. Nothing is kept
 * of hours that will not be summed up again.
 * @param rows not empty; all of one value and one hour.
 */
export async function keepSum(
  transaction: DatabaseTransaction,
  { deviceId, capability }: Value,
  rows: readonly DeletedSample[],
): Promise<void> {
  const added = sumOf(rows);
  if (added.samples === 0) return;
  const hour = startOfHour(added.at);
  const ofValue = sql`device_id = ${deviceId} and capability = ${capability}`;
  // The last hour of a value may be summed up again.
  const summed = await sql`
    select hour from device_hours where ${ofValue} and hour = ${hour}
    and hour < (select max(hour) from device_hours where ${ofValue})`.execute(transaction);
  if (summed.rows.length > 0) return;
  const stretch = { deviceId, capability, fromMs: hour, toMs: hour + hourMs };
  for (const part of await removeHourPart(transaction, stretch)) addTo(added, part);
  await transaction
    .insertInto('device_hour_parts')
    .values({ device_id: deviceId, capability, ...added })
    .execute();
}

type Sum = { at: number; samples: number; total: number; lowest: number; highest: number };

/** Sum of single samples; what cannot be read, or is too large to add up, is in no hour (`samplesOf` of the history). */
function sumOf(rows: readonly DeletedSample[]): Sum {
  const sum: Sum = { at: 0, samples: 0, total: 0, lowest: Infinity, highest: -Infinity };
  for (const { at, value, later } of rows) {
    for (const single of [value, ...laterValues(later)]) {
      if (Math.abs(single) > largestSample) continue;
      addTo(sum, { at, samples: 1, total: single, lowest: single, highest: single });
    }
  }
  return sum;
}

function addTo(sum: Sum, { at, samples, total, lowest, highest }: Sum): void {
  sum.at = Math.max(sum.at, at);
  sum.samples += samples;
  sum.total += total;
  sum.lowest = Math.min(sum.lowest, lowest);
  sum.highest = Math.max(sum.highest, highest);
}

/** The values of `SampleRow['later']`; none of a damaged text. */
export function laterValues(later: string | null): number[] {
  if (later === null) return [];
  try {
    const pairs = JSON.parse(later) as unknown;
    const values = Array.isArray(pairs) ? pairs.map((pair): unknown => (Array.isArray(pair) ? pair[1] : null)) : [];
    return values.filter((value) => typeof value === 'number');
  } catch {
    return [];
  }
}

const startOfHour = (at: number): number => Math.floor(at / hourMs) * hourMs;

/** Removes the sum that was kept for an hour. @returns what was removed. */
export async function removeHourPart(
  transaction: DatabaseTransaction,
  { deviceId, capability, fromMs, toMs }: Stretch,
): Promise<Sum[]> {
  const { rows } = await sql<Sum>`
    delete from device_hour_parts
    where device_id = ${deviceId} and capability = ${capability} and at >= ${fromMs} and at < ${toMs}
    returning at, samples, total, lowest, highest`.execute(transaction);
  return rows;
}

/** The values and times of all that was kept before a time. */
export async function hourPartsBefore({ db }: Parts, before: number): Promise<(Value & { at: number })[]> {
  const { rows } = await sql<Value & { at: number }>`
    select device_id as "deviceId", capability, at from device_hour_parts where at < ${before} order by at`.execute(db);
  return rows;
}

export async function valuesWithParts({ db }: Parts): Promise<Value[]> {
  const query = sql<Value>`select distinct device_id as "deviceId", capability from device_hour_parts`;
  return (await query.execute(db)).rows;
}

/** Time of the first that was kept at or after `from`; null: none. */
export async function nextHourPart({ db }: Parts, from: number): Promise<number | null> {
  const query = sql<{ at: number | null }>`select min(at) as at from device_hour_parts where at >= ${from}`;
  return (await query.execute(db)).rows[0]?.at ?? null;
}
