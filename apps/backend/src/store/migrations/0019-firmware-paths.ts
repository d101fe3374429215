import type { StationMigration } from '../migrate.ts';

/** The path at which the reverse proxy serves a firmware file; null: the file's name below FIRMWARE_FOLDER. */
export const firmwarePaths: StationMigration = {
  name: '0019-firmware-paths',
  up: async (db) => {
    await db.schema.alterTable('firmware_images').addColumn('path', 'text').execute();
  },
};
