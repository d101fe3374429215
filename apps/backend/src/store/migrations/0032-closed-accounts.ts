import type { StationMigration } from '../migrate.ts';

/** Accounts of the house that the cloud closed. A release that does not know the column lets these users log in. */
export const closedAccounts: StationMigration = {
  name: '0032-closed-accounts',
  up: async (db) => {
    await db.schema.alterTable('users').addColumn('closed_at', 'bigint').execute();
  },
};
