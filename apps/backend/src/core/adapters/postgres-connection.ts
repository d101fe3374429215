import type { Client, ClientConfig, Pool } from 'pg';

const connections = 10;
const connectTimeoutMs = 5_000;

/**
 * Settings of each connection: the server notices a lost machine within seconds, both while it waits and while it sends. Then it releases
 * the machine's locks.
 */
export const connectionSettings =
  'set tcp_keepalives_idle = 5; set tcp_keepalives_interval = 2; set tcp_keepalives_count = 3; set tcp_user_timeout = 11000';

/**
 * Ten connections at most. Loads the library: most stations run on SQLite.
 * @param options.name the `application_name`. @param options.onError an idle connection failed; the pool opens another one.
 */
export async function openPostgresPool(options: {
  url: string;
  name: string;
  onError: (error: unknown) => void;
}): Promise<Pool> {
  const { default: pg } = await import('pg');
  const int8 = 20;
  const pool = new pg.Pool({
    connectionString: options.url,
    max: connections,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: options.name,
    // Times and counts are bigint columns; all of them are far below 2^53.
    types: {
      getTypeParser: (id: number, format): ((text: string) => unknown) =>
        id === int8 ? Number : (pg.types.getTypeParser(id, format) as (text: string) => unknown),
    },
  });
  pool.on('error', options.onError);
  pool.on('connect', (client) => {
    // A connection that is closing has left the pool. Without this listener its error would end the process.
    client.on('error', () => undefined);
    // Queued before the first query of the connection. If it fails, that query fails too.
    client.query(connectionSettings).catch(() => undefined);
  });
  return pool;
}

/** One connection. @returns when it is open. @param onEnd called when it fails or ends, also while it opens. */
export async function openPostgresClient(config: ClientConfig, onEnd: (error: Error) => void): Promise<Client> {
  const { default: pg } = await import('pg');
  const client = new pg.Client(config);
  client.on('error', onEnd);
  client.on('end', () => onEnd(new Error('The database connection ended')));
  await client.connect();
  return client;
}
