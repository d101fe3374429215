import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Types whose devices migration 0020 gave a type of their own, `<type>-v1`. They keep the mode that was chosen for them. */
const firstRelease = ['light', 'switch-pir', 'pir', 'climate'];

export const firmwareModes: StationMigration = {
  name: '0024-firmware-modes',
  up: async (db) => {
    for (const type of firstRelease) {
      const own = `${type}-v1`;
      await sql`
        INSERT INTO firmware_modes (type, mode, updated_at)
        SELECT ${own}, mode, updated_at FROM firmware_modes WHERE type = ${type}
        AND NOT EXISTS (SELECT 1 FROM firmware_modes WHERE type = ${own})`.execute(db);
    }
  },
};
