import type { StationMigration } from '../migrate.ts';

/**
 * `clock_state`: one row, the last time of the station. `clock_periods`: when the clock was not known to be right. Every row whose time lies
 * in a period is provisional until the period is corrected and gone (ADR 33).
 */
export const clock: StationMigration = {
  name: '0026-clock',
  up: async (db) => {
    await db.schema
      .createTable('clock_state')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('boot_id', 'text', (column) => column.notNull())
      .addColumn('uptime_ms', 'bigint', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .addColumn('wall_at', 'bigint', (column) => column.notNull())
      .addColumn('trusted', 'integer', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('clock_periods')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('boot_id', 'text', (column) => column.notNull())
      .addColumn('from_at', 'bigint', (column) => column.notNull())
      .addColumn('to_at', 'bigint')
      .addColumn('step_ms', 'bigint')
      .addColumn('rest_at', 'bigint')
      .execute();
  },
};
