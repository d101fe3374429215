import { dirname } from 'node:path';
import { Kysely, sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import type { Disk } from '@station/kit/durable-files';
import { createEmitter } from '@station/kit/emitter';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import { within } from '@station/kit/within';
import { createDatabaseCopies, type CopyKind, type DatabaseCopies } from './database-copies.ts';
import { type DatabaseSpace, spaceOfSqlite } from './database-space.ts';
import { createLoggedReports, type LoggedReportsHolder } from './logged-reports.ts';
import { migrate, readSchemaState, type StationMigration } from './migrate.ts';
import { openPostgres } from './postgres.ts';
import type { Database, Schema } from './schema.ts';
import { isDamage } from '../core/adapters/sqlite.ts';
import { createSqliteDialect } from '../core/adapters/sqlite-dialect.ts';
import { openOrRestore, suspectDamage } from './sqlite-recovery.ts';

export type Store = AsyncDisposable & {
  db: Database;
  kind: DatabaseConfig['kind'];
  /** True when a query succeeds. Never throws. */
  answers(): Promise<boolean>;
  /** Calls `listener` with each error of the database, until disposed. */
  onError(listener: (error: unknown) => void): Disposable;
  /** Null: a server keeps its own. */
  space: DatabaseSpace | null;
  logged: LoggedReportsHolder;
};

const copyEveryMs = 24 * 60 * 60 * 1000;
/** A delay, so that it does not slow down the start. */
const firstCopyAfterMs = 10 * 60 * 1000;

/**
 * Opens the database and brings its schema up to date: the SQLite file is copied before a pending migration touches it, and
 * once a day. An older backend starts on the schema of a newer one (see `migrate.ts`).
 * @throws when the database cannot be opened or reached, or its schema is too new.
 */
export async function openStore(options: {
  config: DatabaseConfig;
  migrations: readonly StationMigration[];
  /** Name of this replica among backends on the same PostgreSQL. */
  replicaId?: string | null;
  clock: Clock;
  disk: Disk;
  logger: BackendLogger;
  /** Called when damage is found while the file is in use: the next start repairs it. */
  onDamage: () => void;
}): Promise<Store> {
  const { config, migrations, replicaId = null, logger } = options;
  await using opening = new AsyncDisposableStack();
  const errors = createEmitter<unknown>();
  const onError = errors.emit;
  const opened =
    config.kind === 'sqlite'
      ? await openSqlite(config.file, { ...options, onError })
      : {
          db: await openPostgres({ url: config.url, replicaId, onError, logger }),
          copy: null,
          copies: null,
          space: null,
        };
  const { db } = opened;
  opening.defer(() => db.destroy());
  const { pending, unknown, isNew } = await readSchemaState(db as Kysely<unknown>, migrations);
  if (unknown.length > 0) logger.event('database_newer', { unknownMigrations: unknown });
  if (pending.length > 0 && !isNew) await opened.copy?.('migration');
  const done = await migrate(db as Kysely<unknown>, migrations);
  if (done.length > 0) logger.event('database_migrated', { migrations: done });
  if (opened.copy !== null) opening.use(startDailyCopies(opened.copy, opened.copies, options));
  const closing = opening.move();
  return {
    db,
    kind: config.kind,
    answers: () => answersInTime(db),
    onError: errors.subscribe,
    space: opened.space,
    logged: createLoggedReports(),
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  };
}

type TakeCopy = (kind: CopyKind, signal?: AbortSignal) => Promise<void>;
type Opened =
  | { db: Database; copy: TakeCopy; copies: DatabaseCopies; space: DatabaseSpace }
  | { db: Database; copy: null; copies: null; space: null };

async function openSqlite(
  file: string,
  options: {
    clock: Clock;
    disk: Disk;
    logger: BackendLogger;
    onDamage: () => void;
    onError: (error: unknown) => void;
  },
): Promise<Opened> {
  const { clock, disk, logger } = options;
  await disk.makeDirectory(dirname(file), 0o700);
  const copies = createDatabaseCopies({ file, disk, clock });
  const database = await openOrRestore({ file, disk, clock, copies, logger });
  let suspected = false;
  const onError = (error: unknown): void => {
    options.onError(error);
    if (suspected || !isDamage(error)) return;
    suspected = true;
    logger.event('database_damaged', { file: 'station.sqlite', reason: error.message });
    suspectDamage(disk, file, error.message)
      .catch((reason: unknown) => logger.failed('suspectDamage', reason))
      .finally(options.onDamage);
  };
  const db = new Kysely<Schema>({ dialect: createSqliteDialect(database, onError) });
  return {
    db,
    copies,
    space: spaceOfSqlite(db, file, copies, disk),
    copy: async (kind, signal) => {
      const { name } = await copies.take(kind, signal);
      logger.event('database_copied', { copy: name, reason: kind });
    },
  };
}

/** One copy a day, counted from the newest copy, so that restarts cause no further copies. */
function startDailyCopies(
  copy: TakeCopy,
  copies: DatabaseCopies,
  { clock, logger }: { clock: Clock; logger: BackendLogger },
): AsyncDisposable {
  const stopping = new AbortController();
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      const [newest] = await copies.list();
      const age = newest === undefined ? copyEveryMs : clock.now() - Date.parse(newest.takenAt);
      // A clock that was set back must not postpone the next copy without limit.
      const untilNext = Math.min(copyEveryMs, copyEveryMs - age);
      await clock.sleep(Math.max(firstCopyAfterMs, untilNext), stopping.signal);
      await copy('daily', stopping.signal).catch((error: unknown) => {
        stopping.signal.throwIfAborted();
        logger.event('database_copy_failed', { reason: 'daily', message: describeError(error) });
      });
    }
  };
  const running = run().catch((error: unknown) => {
    if (stopping.signal.aborted) return;
    logger.failed('daily copy of the database', error);
  });
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}

const answerTimeoutMs = 2_000;

async function answersInTime(db: Database): Promise<boolean> {
  const asked = sql`select 1`.execute(db).then(
    () => true,
    () => false,
  );
  return (await within(answerTimeoutMs, asked)) === true;
}

export type DatabaseConfig = { kind: 'sqlite'; file: string } | { kind: 'postgres'; url: string };
