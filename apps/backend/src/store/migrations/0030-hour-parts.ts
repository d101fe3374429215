import type { StationMigration } from '../migrate.ts';

/**
 * Sums of samples that were deleted before their hour was summed up (`HourPartsTable` of the schema). A release that does not know the table
 * sums up what is left.
 */
export const hourParts: StationMigration = {
  name: '0030-hour-parts',
  up: async (db) => {
    await db.schema
      .createTable('device_hour_parts')
      .addColumn('device_id', 'text', (column) => column.notNull().references('devices.id').onDelete('cascade'))
      .addColumn('capability', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('samples', 'bigint', (column) => column.notNull())
      .addColumn('total', 'double precision', (column) => column.notNull())
      .addColumn('lowest', 'double precision', (column) => column.notNull())
      .addColumn('highest', 'double precision', (column) => column.notNull())
      .addPrimaryKeyConstraint('device_hour_parts_key', ['device_id', 'capability', 'at'])
      .execute();
  },
};
