import { sql } from 'kysely';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import type { CommandTransaction } from '../store/command-store.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import type { FanOut, ReplicaMessage } from './fan-out.ts';
import { lockClass, loginsLock } from './locks.ts';

/** Runs `work` in a transaction; its messages reach all replicas once it is on disk. */
export type Transact = <T>(
  work: (transaction: DatabaseTransaction, announce: (message: ReplicaMessage) => Promise<void>) => Promise<T>,
) => Promise<T>;

export function createTransact(db: Database, fanOut: Pick<FanOut, 'announce' | 'settled'>): Transact {
  return async (work) => {
    const names: string[] = [];
    const settle = (isCommitted: boolean): void => names.forEach((name) => fanOut.settled(name, isCommitted));
    try {
      const result = await db.transaction().execute((transaction) =>
        work(transaction, async (message) => {
          names.push(await fanOut.announce(transaction, message));
        }),
      );
      settle(true);
      return result;
    } catch (error) {
      settle(false);
      throw error;
    }
  };
}

/** Sends changes of commands in the transaction that writes them. */
export function replicatedCommandTransaction(transact: Transact): CommandTransaction {
  return (work) =>
    transact(async (transaction, announce) => {
      for (const command of await work(transaction)) {
        await announce({ kind: 'event', event: { kind: 'command', command } });
      }
    });
}

/**
 * Runs work on the broker's logins in one replica at a time. Inside a process it queues in memory: a connection for each waiter would leave
 * none for the current one.
 */
export function createExclusively(db: Database): <T>(work: () => Promise<T>) => Promise<T> {
  const { run } = createExclusiveRunner();
  return (work) =>
    run(() =>
      db.transaction().execute(async (transaction) => {
        await sql`select pg_advisory_xact_lock(${lockClass}, ${loginsLock})`.execute(transaction);
        return work();
      }),
    );
}
