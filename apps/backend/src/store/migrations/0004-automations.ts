import { sql, type Kysely } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Automations, their runs step by step, and what they say to people. */
export const automations: StationMigration = {
  name: '0004-automations',
  up: async (db) => {
    await createAutomations(db);
    await createRuns(db);
    await createNotifications(db);
  },
};

async function createAutomations(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('automations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('flow', 'text', (column) => column.notNull())
    .addColumn('published_mode', 'text')
    .addColumn('published_flow', 'text')
    .addColumn('revision', 'bigint', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('updated_at', 'bigint', (column) => column.notNull())
    .addColumn('published_at', 'bigint')
    .execute();
}

async function createRuns(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('automation_runs')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('automation_id', 'text', (column) => column.notNull().references('automations.id').onDelete('cascade'))
    // No check of the values: an older release must be able to read those of a newer one.
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('cause', 'text', (column) => column.notNull())
    .addColumn('trigger', 'text', (column) => column.notNull())
    .addColumn('flow', 'text', (column) => column.notNull())
    .addColumn('owner', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('wake_at', 'bigint')
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addUniqueConstraint('automation_runs_cause', ['automation_id', 'cause'])
    .execute();
  await db.schema
    .createIndex('automation_runs_newest')
    .on('automation_runs')
    .columns(['automation_id', 'id'])
    .execute();
  // Few runs are open at a time.
  await db.schema
    .createIndex('automation_runs_open')
    .on('automation_runs')
    .columns(['status', 'wake_at'])
    .where(sql.ref('ended_at'), 'is', null)
    .execute();
  await db.schema
    .createTable('automation_steps')
    .addColumn('run_id', 'text', (column) => column.notNull().references('automation_runs.id').onDelete('cascade'))
    .addColumn('node_id', 'text', (column) => column.notNull())
    .addColumn('position', 'bigint', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('due_at', 'bigint')
    .addColumn('late_ms', 'bigint')
    .addColumn('detail', 'text')
    // A node is begun once in a run, whatever happens.
    .addPrimaryKeyConstraint('automation_steps_key', ['run_id', 'node_id'])
    .execute();
}

async function createNotifications(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('notifications')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('automation_id', 'text', (column) => column.notNull())
    .addColumn('automation_name', 'text', (column) => column.notNull())
    .addColumn('run_id', 'text', (column) => column.notNull())
    .addColumn('message', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
}
