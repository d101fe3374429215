import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

const counters = [
  'events_bytes',
  'samples_bytes',
  'hours_bytes',
  'transitions_bytes',
  'rate_events',
  'rate_values',
  'size_events',
  'size_values',
] as const;

/**
 * How much of the database the history of each device takes, and what of it was dropped. A release that does not know the table neither counts
 * nor drops; a deleted device takes its row along.
 */
export const deviceStorage: StationMigration = {
  name: '0028-device-storage',
  up: async (db) => {
    let table = db.schema
      .createTable('device_storage')
      .addColumn('device_id', 'text', (column) => column.primaryKey().references('devices.id').onDelete('cascade'));
    for (const counter of counters) {
      table = table.addColumn(counter, 'bigint', (column) => column.notNull().defaultTo(sql`0`));
    }
    await table.addColumn('dropped_since', 'bigint').addColumn('dropped_at', 'bigint').execute();
  },
};
