import { sql } from 'kysely';
import type { DatabaseSpace } from '../store/database-space.ts';
import type { Database } from '../store/schema.ts';
import { historyKinds, historyTables } from './device-storage.ts';
import { countedBytes } from './history-rows.ts';

/**
 * PostgreSQL returns nothing to the disk while it is in use: space of deleted rows counts as free once vacuum (its own daemon) has found
 * it. What the tables of the history have beyond their counted rows is such space.
 */
export const spaceOfPostgres = (db: Database): DatabaseSpace => ({
  measure: async () => {
    const tables = historyKinds.map((kind) => sql`pg_total_relation_size(${historyTables[kind].table}::regclass)`);
    const { rows } = await sql<{ all: string | number; history: string | number }>`
      select pg_database_size(current_database()) as all, ${sql.join(tables, sql` + `)} as history`.execute(db);
    const fileBytes = Number(rows[0]?.all ?? 0);
    const historyBytes = Number(rows[0]?.history ?? 0);
    const freeBytes = Math.max(0, historyBytes - (await countedBytes({ db, kind: 'postgres' })));
    return { fileBytes, freeBytes, diskBytes: fileBytes, logBytes: 0, copies: [], canShrink: false };
  },
  giveBack: async () => undefined,
  checkpoint: async () => undefined,
  removeCopy: async () => undefined,
});
