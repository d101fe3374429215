import type { StationMigration } from '../migrate.ts';

/** What devices measured: every value for some days, then a row an hour. */
export const history: StationMigration = {
  name: '0003-history',
  up: async (db) => {
    await db.schema
      .createTable('device_samples')
      .addColumn('device_id', 'text', (column) => column.notNull().references('devices.id').onDelete('cascade'))
      .addColumn('capability', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('value', 'double precision', (column) => column.notNull())
      .addPrimaryKeyConstraint('device_samples_key', ['device_id', 'capability', 'at'])
      .execute();
    await db.schema.createIndex('device_samples_at').on('device_samples').column('at').execute();
    await db.schema
      .createTable('device_hours')
      .addColumn('device_id', 'text', (column) => column.notNull().references('devices.id').onDelete('cascade'))
      .addColumn('capability', 'text', (column) => column.notNull())
      .addColumn('hour', 'bigint', (column) => column.notNull())
      .addColumn('samples', 'bigint', (column) => column.notNull())
      .addColumn('total', 'double precision', (column) => column.notNull())
      .addColumn('lowest', 'double precision', (column) => column.notNull())
      .addColumn('highest', 'double precision', (column) => column.notNull())
      .addPrimaryKeyConstraint('device_hours_key', ['device_id', 'capability', 'hour'])
      .execute();
    await db.schema.createIndex('device_hours_hour').on('device_hours').column('hour').execute();
  },
};
