import { Kysely, PostgresDialect } from 'kysely';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import type { Database, Schema } from './schema.ts';

const connections = 10;
const connectTimeoutMs = 5_000;

/** `application_name` of the connection that a replica's locks hang on, before its id. */
export const sessionName = 'station-replica ';
/** `application_name` of the connections that a replica reads and writes with, before its id. */
export const storeName = 'station-backend ';

/**
 * What each connection begins with: a machine that vanished is noticed within seconds, whether the server waits for it or has something to tell
 * it. What it had locked is free then.
 */
export const connectionSettings =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3; set tcp_user_timeout = 11000';

/** @param replicaId null: this backend is alone. */
export async function openPostgres(options: {
  url: string;
  replicaId: string | null;
  logger: BackendLogger;
}): Promise<Database> {
  const { url, replicaId, logger } = options;
  // Loaded only when it is used: most stations run on SQLite.
  const { default: pg } = await import('pg');
  const int8 = 20;
  const pool = new pg.Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: `${storeName}${replicaId ?? ''}`.trimEnd(),
    // Times and counts are bigint columns; all of them are far below 2^53.
    types: {
      getTypeParser: (id: number, format): ((text: string) => unknown) =>
        id === int8 ? Number : (pg.types.getTypeParser(id, format) as (text: string) => unknown),
    },
  });
  // An idle connection that the server ends is not an error of anyone's query; the pool opens another.
  pool.on('error', (error) =>
    logger.event('unexpected_error', { where: 'database connection', message: describeError(error) }),
  );
  pool.on('connect', (client) => {
    // While it is being closed a connection has left the pool already: its error would be nobody's and end the process.
    client.on('error', () => undefined);
    // Goes before whatever the connection was opened for. One that fails here fails there too.
    client.query(connectionSettings).catch(() => undefined);
  });
  return new Kysely<Schema>({ dialect: new PostgresDialect({ pool }) });
}
