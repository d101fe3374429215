import type { StationMigration } from '../migrate.ts';

/** How often a device greeted while its new firmware had still to stand: one that starts again and again does not stand. */
export const greetings: StationMigration = {
  name: '0015-greetings',
  up: async (db) => {
    await db.schema
      .alterTable('firmware_targets')
      .addColumn('greetings', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
  },
};
