import { type Kysely, PostgresAdapter, type RawBuilder, sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/**
 * `device_transitions`: since when a value that is not a number holds (`TransitionsTable` of the schema). `station_runs`: when a backend ran.
 * Booleans were samples of 0 and 1: their changes become transitions, as far as samples and hours tell. The samples stay for a rollback.
 */
export const transitions: StationMigration = {
  name: '0027-transitions',
  up: async (db) => {
    await db.schema
      .createTable('device_transitions')
      .addColumn('device_id', 'text', (column) => column.notNull().references('devices.id').onDelete('cascade'))
      .addColumn('capability', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('value', 'text')
      .addColumn('span', 'bigint')
      .addColumn('share', 'double precision')
      .addColumn('changes', 'bigint')
      .addPrimaryKeyConstraint('device_transitions_key', ['device_id', 'capability', 'at'])
      .execute();
    await db.schema.createIndex('device_transitions_at').on('device_transitions').column('at').execute();
    await db.schema
      .createTable('station_runs')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('alive_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('station_runs_alive').on('station_runs').column('alive_at').execute();
    const { rows } = await sql<{ id: string; state: string }>`select id, state from devices`.execute(db);
    for (const { id, state } of rows) {
      for (const capability of booleansOf(state)) await takeOver(db, id, capability);
    }
  },
};

/** Only the latest state tells which values are booleans. */
function booleansOf(state: string): string[] {
  try {
    const values = Object.entries(JSON.parse(state) as object);
    return values.filter(([, value]) => typeof value === 'boolean').map(([capability]) => capability);
  } catch {
    return [];
  }
}

async function takeOver(db: Kysely<unknown>, deviceId: string, capability: string): Promise<void> {
  const ofValue = sql`device_id = ${deviceId} and capability = ${capability}`;
  const first = await sql<{ at: number | null }>`select min(at) as at from device_samples where ${ofValue}`.execute(db);
  const samplesFrom = Number(first.rows[0]?.at ?? Number.MAX_SAFE_INTEGER);
  const known = sql`case when highest > 0 then 'true' else 'false' end`;
  // It is not known when within an hour a value changed.
  const hours = sql`
    select hour as at, case when lowest = highest then ${known} end as value
    from device_hours where ${ofValue} and hour + 3600000 <= ${samplesFrom}`;
  const samples = sql`select at, case when value > 0 then 'true' else 'false' end as value from (${single(db, ofValue)}) as single`;
  for (const values of [hours, samples]) {
    await sql`
      insert into device_transitions (device_id, capability, at, value)
      select ${deviceId}, ${capability}, at, value
      from (select at, value, lag(value) over (order by at) as previous from (${values}) as given) as changed
      where value is distinct from previous
      on conflict do nothing`.execute(db);
  }
}

/** Samples one by one: a row may hold several (migration 0013). */
function single(db: Kysely<unknown>, ofValue: RawBuilder<unknown>): RawBuilder<unknown> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const later = isPostgres
    ? sql`json_array_elements(device_samples.later::json) as one(value)`
    : sql`json_each(case when json_valid(device_samples.later) then device_samples.later end) as one`;
  return sql`
    select at, value from device_samples where ${ofValue}
    union all
    select at + cast(one.value ->> 0 as bigint), cast(one.value ->> 1 as double precision)
    from device_samples, ${later} where ${ofValue} and later is not null`;
}
