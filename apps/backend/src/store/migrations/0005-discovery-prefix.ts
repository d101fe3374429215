import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Gateways whose devices announce themselves in a tree of its own (ADR 84). */
export const discoveryPrefix: StationMigration = {
  name: '0005-discovery-prefix',
  up: async (db) => {
    await sql`alter table gateways add column discovery_prefix text`.execute(db);
  },
};
