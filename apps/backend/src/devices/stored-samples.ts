import { sql, type RawBuilder } from 'kysely';
import type { Store } from '../store/database.ts';
import { secondMs } from '../store/device-samples.ts';

/** One value of one device in a time range, milliseconds since the epoch; `toMs` is exclusive. */
export type Stretch = { deviceId: string; capability: string; fromMs: number; toMs: number };

/** No device measures more. Sums of numbers near the limit of a double overflow; so do squares, which PostgreSQL's `avg` adds up. */
const largest = 1e100;

/**
 * Single samples, `given(at, value)`, from rows that hold all samples of a second (`SampleRow`). It leaves out values too large to add up
 * and, on SQLite, unreadable parts of damaged rows. PostgreSQL fails on those (data exceptions, its manual's appendix A).
 */
export function samplesOf(kind: Store['kind'], stretch: Stretch): RawBuilder<unknown> {
  const { deviceId, capability, fromMs, toMs } = stretch;
  const later =
    kind === 'postgres'
      ? sql`json_array_elements(device_samples.later::json) as later_one(value)`
      : sql`json_each(case when json_valid(device_samples.later) then device_samples.later end) as later_one`;
  const after = sql`cast(later_one.value ->> 0 as bigint)`;
  const laterValue = sql`cast(later_one.value ->> 1 as double precision)`;
  const where = sql`device_id = ${deviceId} and capability = ${capability}`;
  // A row may start before the range and still hold samples in it; or after it, when the clock was set back.
  const rows = sql`${where} and at > ${fromMs - secondMs} and at < ${toMs + secondMs}`;
  return sql`(
    select at, value from device_samples
    where ${where} and at >= ${fromMs} and at < ${toMs} and abs(value) <= ${largest}
    union all
    select at + ${after}, ${laterValue}
    from device_samples, ${later}
    where ${rows} and later is not null and at + ${after} >= ${fromMs} and at + ${after} < ${toMs}
      and abs(${laterValue}) <= ${largest}
  ) as given`;
}
