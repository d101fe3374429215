import { setTimeout as sleep } from 'node:timers/promises';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  CompiledQuery,
  createQueryId,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  IdentifierNode,
  type QueryCompiler,
  type QueryResult,
  RawNode,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type TransactionSettings,
} from 'kysely';

/** How long a statement waits while another program holds a lock of the file, before it fails. */
const lockWaitMs = 5_000;
const lockPauseMs = 25;
const cachedStatements = 200;
/** SQLite result codes (sqlite.org/rescode.html): another connection holds a lock. */
const lockCodes: readonly number[] = [5, 6];

/**
 * Kysely on `node:sqlite`: Kysely's own SQLite compiler and introspection over one synchronous connection.
 *
 * - A statement or a transaction has the connection for itself, so a transaction never mixes with other queries; code inside a
 *   transaction must therefore await nothing but its queries.
 * - A transaction begins IMMEDIATE: it takes the write lock at once instead of failing in the middle when another process wrote
 *   meanwhile (sqlite.org/lang_transaction.html).
 * - While another program holds a lock of the file, what writes waits for up to 5 s, in its order, and what reads goes on: nothing waits
 *   inside SQLite, where the whole program would stand still.
 * - SQLite rolls back schema changes too, so a migration is one transaction.
 * - Booleans are written as 0 and 1; SQLite has no boolean.
 *
 * @param database open; the dialect closes it.
 * @param onError called with each error of SQLite.
 */
export function createSqliteDialect(database: DatabaseSync, onError: (error: unknown) => void): Dialect {
  return {
    createAdapter: () => new SharedSqliteAdapter(),
    createDriver: () => createDriver(database, onError),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

class SharedSqliteAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
  /** Kysely's own turns would let what reads wait for what waits for a lock. */
  override get supportsMultipleConnections(): boolean {
    return true;
  }
}

type SqliteConnection = DatabaseConnection & {
  begin(settings: TransactionSettings): Promise<void>;
  commit(): void;
  rollback(): void;
};

function createDriver(database: DatabaseSync, onError: (error: unknown) => void): Driver {
  database.exec('pragma busy_timeout = 0');
  const shared = {
    database,
    onError,
    prepare: createStatementCache(database),
    turn: createTurns(),
    lane: createLane(),
  };
  const own = (connection: DatabaseConnection): SqliteConnection => connection as SqliteConnection;
  const onSavepoint = async (
    connection: DatabaseConnection,
    command: string,
    name: string,
    compile: QueryCompiler['compileQuery'],
  ): Promise<void> => {
    const node = RawNode.create([`${command} `, ''], [IdentifierNode.create(name)]);
    await connection.executeQuery(compile(node, createQueryId()));
  };
  return {
    init: async () => undefined,
    acquireConnection: async () => createConnection(shared),
    releaseConnection: async () => undefined,
    beginTransaction: (connection, settings) => own(connection).begin(settings),
    commitTransaction: async (connection) => own(connection).commit(),
    rollbackTransaction: async (connection) => own(connection).rollback(),
    savepoint: (connection, name, compile) => onSavepoint(connection, 'savepoint', name, compile),
    rollbackToSavepoint: (connection, name, compile) => onSavepoint(connection, 'rollback to', name, compile),
    releaseSavepoint: (connection, name, compile) => onSavepoint(connection, 'release', name, compile),
    destroy: async () => database.close(),
  };
}

type Shared = {
  database: DatabaseSync;
  onError: (error: unknown) => void;
  prepare: (sql: string) => Prepared;
  /** For one statement, or one transaction. */
  turn: Turns;
  /** Where those who write wait for a lock, one after the other; who writes after them waits behind them. */
  lane: Lane;
};

/** `end` ends the turn. */
type Done<R> = { result: QueryResult<R>; end: () => void };

/** @returns one of Kysely's connections: all of them are the same one to SQLite. */
function createConnection(shared: Shared): SqliteConnection {
  const { database, onError, turn } = shared;
  /** Ends the turns of the transaction that is open here; null: none is. */
  let endTransaction: (() => void) | null = null;

  const runOrTell = <R>(query: CompiledQuery): QueryResult<R> => {
    try {
      return runNow(shared, query);
    } catch (error) {
      onError(error);
      throw error;
    }
  };
  const runAlone = async <R>(query: CompiledQuery): Promise<QueryResult<R>> => {
    const { result, end } = await runInTurn<R>(shared, query);
    end();
    return result;
  };
  const finish = (): void => {
    endTransaction?.();
    endTransaction = null;
  };

  return {
    executeQuery: async <R>(query: CompiledQuery): Promise<QueryResult<R>> =>
      endTransaction === null ? runAlone(query) : runOrTell(query),
    streamQuery: async function* <R>(query: CompiledQuery, chunkSize: number) {
      const end = endTransaction === null ? await turn() : null;
      try {
        yield* readInChunks<R>(database, query, chunkSize);
      } finally {
        end?.();
      }
    },
    begin: async ({ accessMode }) => {
      const { end } = await runInTurn(
        shared,
        CompiledQuery.raw(accessMode === 'read only' ? 'begin' : 'begin immediate'),
      );
      endTransaction = end;
    },
    commit: () => {
      runOrTell(CompiledQuery.raw('commit'));
      finish();
    },
    rollback: () => {
      try {
        // Some errors (disk full, I/O) roll back automatically; a second rollback would hide them.
        if (database.isTransaction) runOrTell(CompiledQuery.raw('rollback'));
      } finally {
        finish();
      }
    },
  };
}

function runNow<R>({ prepare }: Shared, { sql, parameters }: CompiledQuery): QueryResult<R> {
  const { statement, returnsRows } = prepare(sql);
  const values = parameters.map(toSqlite);
  if (returnsRows) return { rows: statement.all(...values) as R[] };
  const { changes, lastInsertRowid } = statement.run(...values);
  return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
}

/** A query of its own, or the begin of a transaction. */
async function runInTurn<R>(shared: Shared, query: CompiledQuery): Promise<Done<R>> {
  const { onError, turn, lane } = shared;
  const deadline = performance.now() + lockWaitMs;
  const isReading = isRead(query);
  const end = await turn();
  if (isReading || lane.isEmpty()) {
    try {
      return { result: runNow<R>(shared, query), end };
    } catch (error) {
      if (!isLocked(error)) {
        end();
        onError(error);
        throw error;
      }
    }
  }
  const entering = isReading ? null : lane.enter();
  end();
  const leave = await entering;
  try {
    return await runUnlocked(shared, query, deadline);
  } finally {
    leave?.();
  }
}

/** Again and again while a lock is held. @param deadline of `performance.now`. */
async function runUnlocked<R>(shared: Shared, query: CompiledQuery, deadline: number): Promise<Done<R>> {
  const { onError, turn } = shared;
  for (;;) {
    const end = await turn();
    try {
      return { result: runNow<R>(shared, query), end };
    } catch (error) {
      end();
      if (!isLocked(error) || performance.now() >= deadline) {
        onError(error);
        throw error;
      }
    }
    await sleep(lockPauseMs);
  }
}

function* readInChunks<R>(
  database: DatabaseSync,
  { sql, parameters }: CompiledQuery,
  chunkSize: number,
): Generator<QueryResult<R>> {
  // A separate statement: the cached one may be reused while this one is still read.
  let rows: R[] = [];
  for (const row of database.prepare(sql).iterate(...parameters.map(toSqlite))) {
    rows.push(row as R);
    if (rows.length < chunkSize) continue;
    yield { rows };
    rows = [];
  }
  if (rows.length > 0) yield { rows };
}

/** Waits for its turn, first come, first served. @returns what ends it. */
type Turns = () => Promise<() => void>;

function createTurns(): Turns {
  let last = Promise.resolve();
  return async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const before = last;
    last = promise;
    await before;
    return resolve;
  };
}

type Lane = { enter(): Promise<() => void>; isEmpty(): boolean };

function createLane(): Lane {
  const turn = createTurns();
  let waiting = 0;
  return {
    enter: async () => {
      waiting += 1;
      const end = await turn();
      return () => {
        waiting -= 1;
        end();
      };
    },
    isEmpty: () => waiting === 0,
  };
}

const isLocked = (error: unknown): boolean =>
  error instanceof Error &&
  'errcode' in error &&
  typeof error.errcode === 'number' &&
  lockCodes.includes(error.errcode & 0xff);

/** What takes no write lock. */
const isRead = ({ query, sql }: CompiledQuery): boolean =>
  query.kind === 'SelectQueryNode' || /^\s*(select|begin$)/i.test(sql);

type Prepared = { statement: StatementSync; returnsRows: boolean };

/** Statements by their text; the least recently used is evicted first. */
function createStatementCache(database: DatabaseSync): (sql: string) => Prepared {
  const cache = new Map<string, Prepared>();
  return (sql) => {
    let prepared = cache.get(sql);
    if (prepared === undefined) {
      const statement = database.prepare(sql);
      prepared = { statement, returnsRows: statement.columns().length > 0 };
      const oldest = cache.keys().next();
      if (cache.size >= cachedStatements && !oldest.done) cache.delete(oldest.value);
    } else {
      cache.delete(sql);
    }
    cache.set(sql, prepared);
    return prepared;
  };
}

function toSqlite(value: unknown): SQLInputValue {
  return typeof value === 'boolean' ? Number(value) : (value as SQLInputValue);
}
