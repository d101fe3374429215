import type { StationMigration } from '../migrate.ts';

/** What a user was at home before the cloud made them something else: to be given back when the station leaves it. */
export const homeRoles: StationMigration = {
  name: '0017-home-roles',
  up: async (db) => {
    await db.schema.alterTable('users').addColumn('home_role', 'text').execute();
  },
};
