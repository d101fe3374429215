import type { StationMigration } from '../migrate.ts';

/**
 * What a user had at home before the cloud linked itself to them: to be given back when the cloud drops them. Users that were linked before this
 * migration have none, and are the cloud's.
 */
export const homeAccounts: StationMigration = {
  name: '0014-home-accounts',
  up: async (db) => {
    await db.schema.alterTable('users').addColumn('home_email', 'text').execute();
    await db.schema.alterTable('users').addColumn('home_password_hash', 'text').execute();
  },
};
