import type { StationMigration } from '../migrate.ts';

/** The place of the station, and what the steps of automations saw. */
export const sunAndTraces: StationMigration = {
  name: '0036-sun-and-traces',
  up: async (db) => {
    for (const column of ['latitude', 'longitude']) {
      await db.schema.alterTable('station').addColumn(column, 'double precision').execute();
    }
    await db.schema.alterTable('automation_steps').addColumn('seen', 'text').execute();
  },
};
