import type { StationMigration } from '../migrate.ts';

/**
 * Removed devices are remembered for good, because only they may be told that they are unknown. All other devices that the station does
 * not have wait in `unknown_devices` until somebody accepts or blocks them.
 */
export const neverHarm: StationMigration = {
  name: '0021-never-harm',
  up: async (db) => {
    await db.schema
      .createTable('removed_devices')
      .addColumn('external_id', 'text', (column) => column.primaryKey())
      .addColumn('device_id', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('type', 'text', (column) => column.notNull())
      .addColumn('removed_at', 'bigint', (column) => column.notNull())
      .addColumn('login_until', 'bigint', (column) => column.notNull())
      .addColumn('token_hash', 'text')
      .addColumn('command_id', 'text', (column) => column.notNull())
      .addColumn('answers', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('answered_at', 'bigint')
      .addColumn('ended', 'text')
      .addColumn('ended_at', 'bigint')
      .execute();
    await db.schema
      .createTable('unknown_devices')
      .addColumn('external_id', 'text', (column) => column.primaryKey())
      .addColumn('type', 'text')
      .addColumn('chip', 'text')
      .addColumn('firmware_version', 'text')
      .addColumn('first_seen_at', 'bigint', (column) => column.notNull())
      .addColumn('last_seen_at', 'bigint', (column) => column.notNull())
      .addColumn('blocked', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('token_hash', 'text')
      .addColumn('contested', 'integer', (column) => column.notNull().defaultTo(0))
      .addColumn('accepted_name', 'text')
      .addColumn('accepted_zone_id', 'text')
      .addColumn('accepted_until', 'bigint')
      .execute();
  },
};
