import type { StationMigration } from '../migrate.ts';

/** Firmware that somebody on the network could have changed waits for a person (contracts, section 2). */
export const firmwareApproval: StationMigration = {
  name: '0046-firmware-approval',
  up: async (db) => {
    await db.schema.alterTable('firmware_images').addColumn('needs_approval', 'integer').execute();
  },
};
