import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** The latest change of the devices' Wi-Fi, and how far each device has come. */
export const wifiChanges: StationMigration = {
  name: '0023-wifi-changes',
  up: async (db) => {
    await db.schema
      .createTable('wifi_changes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('ssid', 'text', (column) => column.notNull())
      .addColumn('credentials', 'text')
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('started_by', 'text')
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('ended_at', 'bigint')
      .execute();
    // One change runs at a time, also with several backends.
    await db.schema
      .createIndex('wifi_changes_running')
      .on('wifi_changes')
      .column('state')
      .unique()
      .where(sql.ref('state'), '=', sql.lit('running'))
      .execute();
    await db.schema
      .createTable('wifi_change_devices')
      .addColumn('change_id', 'text', (column) => column.notNull().references('wifi_changes.id').onDelete('cascade'))
      // No reference: a device may be removed while the change is made. Such rows go with the change.
      .addColumn('device_id', 'text', (column) => column.notNull())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('told_at', 'bigint')
      .addColumn('reason', 'text')
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('wifi_change_devices_key', ['change_id', 'device_id'])
      .execute();
  },
};
