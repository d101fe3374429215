import type { StationMigration } from '../migrate.ts';

/**
 * `value_times`: JSON object, when each value was reported that the latest report did not contain; null: no such values.
 * `fault`: JSON of a `Fault` of `core/device-faults.ts`; null: none.
 */
export const oddInput: StationMigration = {
  name: '0022-odd-input',
  up: async (db) => {
    await db.schema.alterTable('devices').addColumn('value_times', 'text').execute();
    await db.schema.alterTable('devices').addColumn('fault', 'text').execute();
  },
};
