import { join } from 'node:path';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { openStore, type Store } from '../src/store/database.ts';
import { migrations } from '../src/store/migrations/all.ts';
import { recordedLog } from './recorded-log.ts';
import { postgresDatabase, postgresUrl } from './test-postgres.ts';
import { temporaryFolder } from './temporary-folder.ts';

/** A new store with the schema of this release: SQLite, or PostgreSQL if `STATION_TEST_POSTGRES` is set. */
export async function openTestStore(): Promise<Store> {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(await temporaryFolder());
  const postgres = postgresUrl === null ? null : opening.use(await postgresDatabase(postgresUrl, folder.path));
  const store = opening.use(
    await openStore({
      config: postgres
        ? { kind: 'postgres', url: postgres.url }
        : { kind: 'sqlite', file: join(folder.path, 'station.sqlite') },
      migrations,
      clock: systemClock,
      disk: nodeDisk,
      logger: recordedLog(),
      onDamage: () => undefined,
    }),
  );
  const opened = opening.move();
  return { ...store, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}
