import { sql, type RawBuilder } from 'kysely';
import type { Store } from '../store/database.ts';
import { secondMs } from './device-samples.ts';

/** One value of one device in a stretch of time, milliseconds since the epoch; `toMs` is not in it. */
export type Stretch = { deviceId: string; capability: string; fromMs: number; toMs: number };

/** Samples one by one, `given(at, value)`, from rows that take those of a second along (`SampleRow`). */
export function samplesOf(kind: Store['kind'], stretch: Stretch): RawBuilder<unknown> {
  const { deviceId, capability, fromMs, toMs } = stretch;
  const later =
    kind === 'postgres'
      ? sql`json_array_elements(device_samples.later::json) as later_one(value)`
      : sql`json_each(device_samples.later) as later_one`;
  const after = sql`cast(later_one.value ->> 0 as bigint)`;
  const where = sql`device_id = ${deviceId} and capability = ${capability}`;
  // A row may begin before what it takes along is asked for, or after it where the clock was set.
  const rows = sql`${where} and at > ${fromMs - secondMs} and at < ${toMs + secondMs}`;
  return sql`(
    select at, value from device_samples
    where ${where} and at >= ${fromMs} and at < ${toMs}
    union all
    select at + ${after}, cast(later_one.value ->> 1 as double precision)
    from device_samples, ${later}
    where ${rows} and later is not null and at + ${after} >= ${fromMs} and at + ${after} < ${toMs}
  ) as given`;
}
