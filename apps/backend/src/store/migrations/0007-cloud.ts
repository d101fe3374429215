import { PostgresAdapter, sql, type Kysely } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** The cloud link: whose station it is, what the cloud has not got yet, and what it had done already. */
export const cloud: StationMigration = {
  name: '0007-cloud',
  up: async (db: Kysely<unknown>) => {
    await db.schema
      .createTable('cloud_config')
      .addColumn('id', 'text', (column) => column.primaryKey().check(sql`id = 'cloud'`))
      .addColumn('station_token', 'text')
      .addColumn('claimed_at', 'bigint')
      .addColumn('claim_secret', 'text')
      .addColumn('active_channels', 'text', (column) => column.notNull())
      .addColumn('states_sent_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('dropped', 'bigint', (column) => column.notNull().defaultTo(0))
      .addColumn('reset_at', 'bigint')
      .execute();
    await createOutbox(db);
    await db.schema
      .createTable('cloud_set_aside')
      .addColumn('seq', 'bigint', (column) => column.primaryKey())
      .addColumn('channel', 'text', (column) => column.notNull())
      .addColumn('content', 'text', (column) => column.notNull())
      .addColumn('reason', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('cloud_commands')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('outcome', 'text')
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('cloud_commands_at').on('cloud_commands').column('at').execute();
  },
};

/** Numbers that are never given out again, also when the table was empty in between: each dialect has its own word for it. */
async function createOutbox(db: Kysely<unknown>): Promise<void> {
  const isPostgres = db.getExecutor().adapter instanceof PostgresAdapter;
  const seq = isPostgres ? sql`bigserial primary key` : sql`integer primary key autoincrement`;
  await sql`create table cloud_outbox (seq ${seq}, channel text not null, ref text, content text, at bigint)`.execute(
    db,
  );
}
