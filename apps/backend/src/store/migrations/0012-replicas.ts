import type { StationMigration } from '../migrate.ts';

/** Commands that outlive the backend, and what several backends on one database have to know of one another. */
export const replicas: StationMigration = {
  name: '0012-replicas',
  up: async (db) => {
    await db.schema
      .createTable('device_commands')
      .addColumn('id', 'text', (column) => column.primaryKey())
      // No foreign key: what became of a command is told also when its device is gone. Parameters may be secret and are not kept.
      .addColumn('device_id', 'text', (column) => column.notNull())
      .addColumn('action', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text')
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('reason', 'text')
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('device_commands_status').on('device_commands').columns(['status', 'at']).execute();
    await db.schema
      .createTable('replicas')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('process', 'bigint', (column) => column.notNull())
      .addColumn('hears', 'bigint', (column) => column.notNull())
      .addColumn('seen_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('leadership')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('epoch', 'bigint', (column) => column.notNull())
      .addColumn('replica_id', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('token_revocations')
      .addColumn('user_id', 'text', (column) => column.primaryKey())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute();
    // JSON object: when each capability of the state was reported. Kept only where several backends write (`replicas/shared-reports.ts`).
    await db.schema.alterTable('devices').addColumn('state_times', 'text').execute();
  },
};
