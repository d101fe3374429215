import type { StationMigration } from '../migrate.ts';

/** Events of the station and its people, and who or what gave a command. */
export const activity: StationMigration = {
  name: '0041-activity',
  up: async (db) => {
    await db.schema
      .createTable('station_events')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('kind', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text')
      .addColumn('data', 'text', (column) => column.notNull())
      .addColumn('once', 'text')
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('station_events_once').on('station_events').column('once').unique().execute();
    for (const column of ['cause', 'cause_id', 'params'])
      await db.schema.alterTable('device_commands').addColumn(column, 'text').execute();
  },
};
