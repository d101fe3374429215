import type { StationMigration } from '../migrate.ts';

/** What used a session last, for the list of a user's sessions. */
export const sessionClients: StationMigration = {
  name: '0031-session-clients',
  up: async (db) => {
    for (const column of ['user_agent', 'address'])
      await db.schema.alterTable('refresh_tokens').addColumn(column, 'text').execute();
  },
};
