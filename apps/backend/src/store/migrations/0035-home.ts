import type { StationMigration } from '../migrate.ts';

/** The order of zones at home, the favourite devices of each person, and scenes. */
export const home: StationMigration = {
  name: '0035-home',
  up: async (db) => {
    await db.schema.alterTable('zones').addColumn('position', 'integer').execute();
    await db.schema
      .createTable('favourites')
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addColumn('device_id', 'text', (column) => column.notNull().references('devices.id').onDelete('cascade'))
      .addColumn('position', 'integer', (column) => column.notNull())
      .addPrimaryKeyConstraint('favourites_key', ['user_id', 'device_id'])
      .execute();
    await db.schema
      .createTable('scenes')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('commands', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('updated_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema.createIndex('favourites_device').on('favourites').column('device_id').execute();
  },
};
