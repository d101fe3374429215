import { sql } from 'kysely';
import type { Disk } from '@station/kit/durable-files';
import { ownValue } from '@station/protocol/own-value';
import { readFileBytes } from './adapters/file-size.ts';
import type { DatabaseCopies } from './database-copies.ts';
import type { Database } from './schema.ts';

/** What the database takes on its disk, bytes. */
export type DatabaseSizes = {
  /** All pages, also free ones. */
  fileBytes: number;
  /** Free pages: new rows use them first. */
  freeBytes: number;
  /** What the file still takes; more than `fileBytes` until a checkpoint shortens it. */
  diskBytes: number;
  /** The write-ahead log. */
  logBytes: number;
  /** Newest first. */
  copies: { path: string; bytes: number }[];
  /** Whether free pages can be returned to the disk while the database is in use. */
  canShrink: boolean;
};

/** Size of the database, and what makes it smaller. Each call takes some milliseconds. */
export type DatabaseSpace = {
  measure(): Promise<DatabaseSizes>;
  /** Returns free pages to the disk: a few, so that others need not wait. */
  giveBack(): Promise<void>;
  /** Moves the write-ahead log into the file, and shortens both. */
  checkpoint(): Promise<void>;
  removeCopy(path: string): Promise<void>;
};

/** Pages of 4 KiB in one transaction: some milliseconds. */
const pagesAtOnce = 64;
const incremental = 2;

export const spaceOfSqlite = (db: Database, file: string, copies: DatabaseCopies, disk: Disk): DatabaseSpace => ({
  measure: async () => {
    const pragma = async (name: string): Promise<number> => {
      const { rows } = await sql<Record<string, number>>`pragma ${sql.raw(name)}`.execute(db);
      return ownValue(rows[0], name) ?? 0;
    };
    const pageSize = await pragma('page_size');
    const listed = (await copies.list()).map(async ({ path }) => ({ path, bytes: await readFileBytes(path) }));
    return {
      fileBytes: (await pragma('page_count')) * pageSize,
      freeBytes: (await pragma('freelist_count')) * pageSize,
      diskBytes: await readFileBytes(file),
      logBytes: await readFileBytes(`${file}-wal`),
      copies: await Promise.all(listed),
      canShrink: (await pragma('auto_vacuum')) === incremental,
    };
  },
  giveBack: () =>
    db.transaction().execute(async (transaction) => {
      // Frees one page for each call, whatever the number: the driver reads only the first row.
      for (let page = 0; page < pagesAtOnce; page++) await sql`pragma incremental_vacuum(1)`.execute(transaction);
    }),
  checkpoint: () =>
    // One user of the connection: nobody else may meet the time-out of zero.
    db.connection().execute(async (connection) => {
      const { rows } = await sql<{ timeout: number }>`pragma busy_timeout`.execute(connection);
      // A process that reads for long, such as a backup, would otherwise stop this thread until the time is up.
      await sql`pragma busy_timeout = 0`.execute(connection);
      try {
        await sql`pragma wal_checkpoint(truncate)`.execute(connection);
      } finally {
        await sql`pragma busy_timeout = ${sql.raw(String(rows[0]?.timeout ?? 0))}`.execute(connection);
      }
    }),
  removeCopy: (path) => disk.remove(path),
});
