import { Kysely, PostgresDialect } from 'kysely';
import type { BackendLogger } from '@station/kit/logger';
import type { Database, Schema } from './schema.ts';

const connections = 10;
const connectTimeoutMs = 5_000;

/** Prefix of the `application_name` of the connection that holds a replica's locks; the replica id follows. */
export const sessionName = 'station-replica ';
/** Prefix of the `application_name` of a replica's other connections; the replica id follows. */
export const storeName = 'station-backend ';

/**
 * Settings of each connection: the server notices a lost machine within seconds, both while it waits and while it sends. Then it releases
 * the machine's locks.
 */
export const connectionSettings =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3; set tcp_user_timeout = 11000';

/**
 * @param options.replicaId null: there is only this backend.
 * @param options.onError called with each error of a query.
 */
export async function openPostgres(options: {
  url: string;
  replicaId: string | null;
  onError: (error: unknown) => void;
  logger: Pick<BackendLogger, 'failed'>;
}): Promise<Database> {
  const { url, replicaId, onError, logger } = options;
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
  // When the server ends an idle connection, no query fails; the pool opens another one.
  pool.on('error', (error) => logger.failed('database connection', error));
  pool.on('connect', (client) => {
    // A connection that is closing has left the pool. Without this listener its error would end the process.
    client.on('error', () => undefined);
    // Queued before the first query of the connection. If it fails, that query fails too.
    client.query(connectionSettings).catch(() => undefined);
  });
  return new Kysely<Schema>({
    dialect: new PostgresDialect({ pool }),
    log: (event) => {
      if (event.level === 'error') onError(event.error);
    },
  });
}
