import type { Client } from 'pg';
import { constantBackoff, retry } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { within } from '@station/kit/within';
import { sessionName } from '../store/postgres.ts';
import { connectionSettings, openPostgresClient } from '../core/adapters/postgres-connection.ts';
import { lockClass, replicaLock } from './locks.ts';

export type SessionQuery = <T extends object>(text: string, values?: readonly unknown[]) => Promise<T[]>;

export type SessionHandler = {
  /** Connected, listening, and holding this replica's lock. Messages arrive without a gap from now on. */
  onConnected(): void;
  /** The connection ended: messages may be lost from now on. */
  onLost(): void;
  onNotification(payload: string): void;
  /** Once a second while connected. When it rejects, the connection is given up. */
  onTick(query: SessionQuery): Promise<void>;
};

export type Session = AsyncDisposable & { isConnected(): boolean };

export const channel = 'station';

const tickMs = 1_000;
const reconnectMs = 500;
const answerMs = 5_000;
/** How long a starting replica waits for its predecessor of the same name to end. */
const takeOverMs = 20_000;

/** A replica of this name is already running. */
class NameTakenError extends Error {}

/**
 * The only PostgreSQL connection for notifications and session locks. It reconnects automatically and reports each loss.
 * @returns when it has connected for the first time.
 * @throws (rejects) when the server cannot be reached, or another replica of this name is running.
 */
export async function openSession(options: {
  url: string;
  replicaId: string;
  handler: SessionHandler;
  clock: Clock;
  logger: BackendLogger;
}): Promise<Session> {
  const { replicaId, handler, clock, logger } = options;
  const ending = new AbortController();
  const { promise: started, resolve: onStarted, reject: onFailed } = Promise.withResolvers<void>();
  const startedMs = clock.monotonic();
  let connected = false;
  let hasStarted = false;
  let lastReason = '';

  const serve = async (): Promise<void> => {
    const connection = await connect(options);
    try {
      connection.client.on('notification', ({ payload }) => {
        handler.onNotification(payload ?? '');
      });
      await prepare(connection.query, replicaId);
      connected = true;
      lastReason = '';
      handler.onConnected();
      hasStarted = true;
      onStarted();
      while (!ending.signal.aborted) {
        await handler.onTick(connection.query);
        await Promise.race([clock.sleep(tickMs, ending.signal).catch(() => undefined), connection.lost]);
      }
    } finally {
      if (connected) {
        connected = false;
        handler.onLost();
      }
      await connection.close();
    }
  };
  const onFailure = ({ error }: { error: unknown }): void => {
    const mayWait = error instanceof NameTakenError && clock.monotonic() - startedMs < takeOverMs;
    if (!hasStarted && !mayWait) throw error;
    const reason = describeError(error);
    if (reason !== lastReason) logger.event('replica_cut_off', { replicaId, reason });
    lastReason = reason;
  };
  const backoff = constantBackoff(reconnectMs);
  const running = retry(serve, { clock, signal: ending.signal, backoff, onFailure }).catch(onFailed);
  const dispose = async (): Promise<void> => {
    ending.abort();
    await running;
  };
  await started;
  return { isConnected: () => connected, [Symbol.asyncDispose]: dispose };
}

/** @throws NameTakenError */
async function prepare(query: SessionQuery, replicaId: string): Promise<void> {
  await query(connectionSettings);
  const locking = `select pg_try_advisory_lock(${lockClass}, ${replicaLock}) as locked`;
  const [answer] = await query<{ locked: boolean }>(locking, [replicaId]);
  if (answer?.locked !== true) throw new NameTakenError(`Another backend runs with REPLICA_ID ${replicaId}`);
  await query(`listen ${channel}`);
}

type Connection = {
  client: Client;
  query: SessionQuery;
  /** Rejects when the connection ends. */
  lost: Promise<never>;
  close(): Promise<void>;
};

async function connect({ url, replicaId }: { url: string; replicaId: string }): Promise<Connection> {
  const { promise: lost, reject } = Promise.withResolvers<never>();
  lost.catch(() => undefined);
  const config = {
    connectionString: url,
    application_name: `${sessionName}${replicaId}`,
    connectionTimeoutMillis: answerMs,
    query_timeout: answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 5_000,
  };
  const client = await openPostgresClient(config, reject);
  return {
    client,
    lost,
    query: async <T extends object>(text: string, values?: readonly unknown[]) => {
      const asked = client.query<T>(text, values === undefined ? undefined : [...values]);
      asked.catch(() => undefined);
      return (await Promise.race([asked, lost])).rows;
    },
    close: async () => {
      // Does not wait for a server that no longer answers.
      const closing = client.end().catch(() => undefined);
      await within(answerMs / 5, closing);
    },
  };
}
