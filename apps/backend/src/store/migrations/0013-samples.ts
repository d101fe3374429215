import type { StationMigration } from '../migrate.ts';

/**
 * A row takes the other samples of its second along: JSON, `[[milliseconds after the row's, value], …]`. A release that does not know the
 * column reads the first sample of each such second, and writes rows of one.
 */
export const samples: StationMigration = {
  name: '0013-samples',
  up: async (db) => {
    await db.schema.alterTable('device_samples').addColumn('later', 'text').execute();
  },
};
