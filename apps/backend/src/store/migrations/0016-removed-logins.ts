import type { StationMigration } from '../migrate.ts';

/** Logins at a broker of its own that are to be taken back, noted with the removal of their devices: the broker may be away then. */
export const removedLogins: StationMigration = {
  name: '0016-removed-logins',
  up: async (db) => {
    await db.schema
      .createTable('removed_logins')
      // Of the device that was removed: one with the same external id may be added and removed again before the broker is back.
      .addColumn('device_id', 'text', (column) => column.primaryKey())
      .addColumn('external_id', 'text', (column) => column.notNull())
      .execute();
  },
};
