import type { StationMigration } from '../migrate.ts';

/** When the backup files of each destination were verified. The files themselves are listed at the destination. */
export const backupFiles: StationMigration = {
  name: '0029-backup-files',
  up: async (db) => {
    await db.schema
      .createTable('backup_files')
      .addColumn('place', 'text', (column) => column.notNull())
      .addColumn('name', 'text', (column) => column.notNull())
      .addColumn('verified_at', 'bigint', (column) => column.notNull())
      .addPrimaryKeyConstraint('backup_files_key', ['place', 'name'])
      .execute();
  },
};
