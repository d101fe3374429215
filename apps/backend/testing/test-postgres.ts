import { hash } from 'node:crypto';
import { test } from 'node:test';
import pg from 'pg';

/**
 * URL of a PostgreSQL server; null: SQLite. The end-to-end test sets the variable and runs the tests of `npm test`
 * again.
 */
export const postgresUrl: string | null = process.env['STATION_TEST_POSTGRES'] ?? null;

/** A test of what only SQLite does. With PostgreSQL it does not exist: a skipped test would be a failure. */
export const testOnSqlite = (name: string, run: () => Promise<void>, options: { timeout?: number } = {}): void => {
  if (postgresUrl === null) void test(name, options, run);
};

export type TestPostgres = AsyncDisposable & { url: string };

/** One database for each `owner`. The first caller creates it, and drops it on disposal. */
export async function postgresDatabase(server: string, owner: string): Promise<TestPostgres> {
  const name = `test_${hash('sha256', owner).slice(0, 24)}`;
  const url = new URL(server);
  url.pathname = `/${name}`;
  const query = async (text: string): Promise<number> => {
    const client = new pg.Client({ connectionString: server });
    await client.connect();
    try {
      return (await client.query(text)).rowCount ?? 0;
    } finally {
      await client.end();
    }
  };
  const exists = (await query(`select 1 from pg_database where datname = '${name}'`)) > 0;
  if (!exists) await query(`create database ${name}`);
  const dispose = async (): Promise<void> => {
    if (!exists) await query(`drop database ${name} with (force)`);
  };
  return { url: url.href, [Symbol.asyncDispose]: dispose };
}
