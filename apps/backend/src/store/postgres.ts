import { Kysely, PostgresDialect } from 'kysely';
import type { BackendLogger } from '@station/kit/logger';
import { openPostgresPool } from '../core/adapters/postgres-connection.ts';
import type { Database, Schema } from './schema.ts';

/** Prefix of the `application_name` of the connection that holds a replica's locks; the replica id follows. */
export const sessionName = 'station-replica ';
/** Prefix of the `application_name` of a replica's other connections; the replica id follows. */
export const storeName = 'station-backend ';

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
  const pool = await openPostgresPool({
    url,
    name: `${storeName}${replicaId ?? ''}`.trimEnd(),
    onError: (error) => logger.failed('database connection', error),
  });
  return new Kysely<Schema>({
    dialect: new PostgresDialect({ pool }),
    log: (event) => {
      if (event.level === 'error') onError(event.error);
    },
  });
}
