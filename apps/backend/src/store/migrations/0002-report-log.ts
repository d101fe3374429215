import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Where states of devices wait for their tables (ADR 80). */
export const reportLog: StationMigration = {
  name: '0002-report-log',
  up: async (db) => {
    await sql`create table report_log (slot integer primary key, seq bigint not null, reports text not null)`.execute(
      db,
    );
  },
};
