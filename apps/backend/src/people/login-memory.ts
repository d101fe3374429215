import { sql } from 'kysely';
import { emailForms } from '../store/station-store.ts';
import type { Database } from '../store/schema.ts';

/** `at`: wall clock, milliseconds since the epoch. */
type KeptCount = { key: string; failures: number; at: number };

type KnownBrowser = { tokenHash: string; sessionId: string };

/** What the limits of log-ins keep over a restart. Nothing rejects: a disk that is full locks nobody out. */
export type LoginMemory = {
  read(): Promise<KeptCount[]>;
  keep(counts: readonly KeptCount[]): Promise<void>;
  forget(keys: readonly string[]): Promise<void>;
  /** Whether this account was logged in to from this network before. */
  isKnown(account: string, network: string): Promise<boolean>;
  remember(userId: string, network: string, at: number): Promise<void>;
  /** Whether a browser logged in to this account before. @param account null: to any. */
  isKnownDevice(account: string | null, tokenHash: string): Promise<boolean>;
  rememberDevice(userId: string, device: KnownBrowser, at: number): Promise<void>;
};

/** The last ones stay. */
const maxCounts = 1_000;
const maxNetworks = 20;
const maxDevices = 50;

/** @param failed is told of errors of the database. */
export function createLoginMemory(db: Database, failed: (error: unknown) => void): LoginMemory {
  const unless = async <T>(fallback: T, action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (error) {
      failed(error);
      return fallback;
    }
  };
  return {
    read: () => unless([], () => db.selectFrom('login_counts').selectAll().execute()),
    keep: (counts) => unless(undefined, () => keepCounts(db, counts)),
    forget: (keys) =>
      unless(
        undefined,
        async () =>
          void (await db
            .deleteFrom('login_counts')
            .where('key', 'in', [...keys])
            .execute()),
      ),
    isKnown: (account, network) =>
      unless(false, async () => {
        const row = await db
          .selectFrom('login_networks')
          .innerJoin('users', 'users.id', 'login_networks.user_id')
          .select('network')
          .where('users.email', 'in', emailForms(account))
          .where('network', '=', network)
          .executeTakeFirst();
        return row !== undefined;
      }),
    remember: (userId, network, at) => unless(undefined, () => rememberNetwork(db, userId, network, at)),
    isKnownDevice: (account, tokenHash) =>
      unless(false, async () => {
        const known = db
          .selectFrom('login_devices')
          .innerJoin('users', 'users.id', 'login_devices.user_id')
          .select('token_hash')
          .where('token_hash', '=', tokenHash);
        const row = await (
          account === null ? known : known.where('users.email', 'in', emailForms(account))
        ).executeTakeFirst();
        return row !== undefined;
      }),
    rememberDevice: (userId, device, at) => unless(undefined, () => rememberDevice(db, userId, device, at)),
  };
}

async function keepCounts(db: Database, counts: readonly KeptCount[]): Promise<void> {
  if (counts.length === 0) return;
  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('login_counts')
      .values([...counts])
      .onConflict((conflict) =>
        conflict
          .column('key')
          .doUpdateSet(({ ref }) => ({ failures: ref('excluded.failures'), at: ref('excluded.at') })),
      )
      .execute();
    await sql`delete from login_counts where key not in
      (select key from login_counts order by at desc, key limit ${maxCounts})`.execute(transaction);
  });
}

async function rememberNetwork(db: Database, userId: string, network: string, at: number): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('login_networks')
      .values({ user_id: userId, network, at })
      .onConflict((conflict) => conflict.columns(['user_id', 'network']).doUpdateSet({ at }))
      .execute();
    await sql`delete from login_networks where user_id = ${userId} and network not in
      (select network from login_networks where user_id = ${userId} order by at desc, network limit ${maxNetworks})`.execute(
      transaction,
    );
  });
}

async function rememberDevice(db: Database, userId: string, device: KnownBrowser, at: number): Promise<void> {
  const { tokenHash, sessionId } = device;
  await db.transaction().execute(async (transaction) => {
    await transaction
      .insertInto('login_devices')
      .values({ user_id: userId, token_hash: tokenHash, session_id: sessionId, at })
      .onConflict((conflict) => conflict.columns(['user_id', 'token_hash']).doUpdateSet({ session_id: sessionId, at }))
      .execute();
    await sql`delete from login_devices where user_id = ${userId} and token_hash not in
      (select token_hash from login_devices where user_id = ${userId}
        order by at desc, token_hash limit ${maxDevices})`.execute(transaction);
  });
}
