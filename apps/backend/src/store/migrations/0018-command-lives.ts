import type { StationMigration } from '../migrate.ts';

/** Which run of the backend a command of the cloud came to, and when by its clock that only goes forward: the one on the wall may be set. */
export const commandLives: StationMigration = {
  name: '0018-command-lives',
  up: async (db) => {
    await db.schema
      .alterTable('cloud_commands')
      .addColumn('life', 'text', (column) => column.notNull().defaultTo(''))
      .execute();
    await db.schema
      .alterTable('cloud_commands')
      .addColumn('monotonic_at', 'bigint', (column) => column.notNull().defaultTo(0))
      .execute();
    await db.schema.createIndex('cloud_commands_life').on('cloud_commands').columns(['life', 'monotonic_at']).execute();
  },
};
