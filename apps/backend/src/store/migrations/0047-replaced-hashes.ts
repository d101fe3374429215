import type { StationMigration } from '../migrate.ts';

/** Which hash of the cloud stands for the same password as the stored one. A release that does not know the column takes that hash again. */
export const replacedHashes: StationMigration = {
  name: '0047-replaced-hashes',
  up: async (db) => {
    await db.schema.alterTable('users').addColumn('replaced_hash', 'text').execute();
  },
};
