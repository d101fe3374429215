import { hash } from 'node:crypto';
import pg from 'pg';

/**
 * The end-to-end test of PostgreSQL runs the same stories as `npm test` again, with the server's address in this variable. Unset: SQLite.
 */
export const postgresUrl: string | null = process.env['STATION_TEST_POSTGRES'] ?? null;

export type TestPostgres = AsyncDisposable & { url: string };

/** A database of its own for whoever names the same `owner`; the one who made it drops it. */
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
