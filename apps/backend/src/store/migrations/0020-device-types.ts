import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Capability that only the device of Station's first release reports, by type. */
const firstRelease: Readonly<Record<string, string>> = {
  light: 'power',
  'switch-pir': 'power',
  pir: 'battery',
  climate: 'battery',
};

/**
 * The names of the built-in types belong to devices in the field (contracts, section 8a). Devices of Station's first release, recognised by
 * what they report, get a type of their own. `source`: where a type that is not built in comes from.
 * `confirmation`: what confirms a command besides an acknowledgement.
 */
export const deviceTypes: StationMigration = {
  name: '0020-device-types',
  up: async (db) => {
    await db.schema
      .alterTable('device_types')
      .addColumn('source', 'text', (column) => column.notNull().defaultTo('handshake'))
      .execute();
    await db.schema.alterTable('device_commands').addColumn('confirmation', 'text').execute();
    for (const [type, capability] of Object.entries(firstRelease)) {
      const has = `%"${capability}":%`;
      await sql`UPDATE devices SET type = ${`${type}-v1`} WHERE type = ${type} AND state LIKE ${has}`.execute(db);
    }
  },
};
