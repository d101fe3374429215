import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Devices that are being added, and those whose adding ended within a day. */
export const provisionings: StationMigration = {
  name: '0025-provisionings',
  up: async (db) => {
    await db.schema
      .createTable('provisionings')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('external_id', 'text', (column) => column.notNull())
      .addColumn('device_type', 'text')
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('name_given', 'integer', (column) => column.notNull())
      .addColumn('zone_id', 'text')
      .addColumn('zone_given', 'integer', (column) => column.notNull())
      .addColumn('method', 'text', (column) => column.notNull())
      .addColumn('address', 'text')
      .addColumn('had_device', 'integer', (column) => column.notNull())
      .addColumn('status', 'text', (column) => column.notNull())
      .addColumn('error', 'text')
      .addColumn('started_by', 'text')
      .addColumn('started_at', 'bigint', (column) => column.notNull())
      .addColumn('changed_at', 'bigint', (column) => column.notNull())
      .addColumn('ends_at', 'bigint')
      .addColumn('device_id', 'text')
      .addColumn('token_hash', 'text')
      .addColumn('login_at', 'bigint')
      .addColumn('secrets', 'text')
      .execute();
    // A device is added once at a time, also with several backends.
    await db.schema
      .createIndex('provisionings_open')
      .on('provisionings')
      .column('external_id')
      .unique()
      .where(sql<boolean>`status in ('queued', 'writing', 'waiting')`)
      .execute();
  },
};
