import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/**
 * What a device says about itself counts for it alone (ADR 69). Each device begins with what was announced for its type, until its next
 * handshake: one that stays connected to an external broker may not send one for weeks. Older releases still read `device_types`.
 */
export const deviceDescriptions: StationMigration = {
  name: '0044-device-descriptions',
  up: async (db) => {
    await db.schema
      .createTable('device_descriptions')
      .addColumn('device_id', 'text', (column) => column.primaryKey().references('devices.id').onDelete('cascade'))
      .addColumn('definition', 'text', (column) => column.notNull())
      .execute();
    await sql`
      INSERT INTO device_descriptions (device_id, definition)
      SELECT devices.id, device_types.definition FROM devices JOIN device_types ON device_types.type = devices.type
      WHERE device_types.source = 'handshake'`.execute(db);
  },
};
