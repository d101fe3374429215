import { createHash, randomUUIDv7 } from 'node:crypto';
import { sql, type SqlBool } from 'kysely';
import { Value } from 'typebox/value';
import type { Clock } from '@station/kit/clock';
import { knownLanguage, type Language } from '@station/protocol/languages';
import { NotificationPreferences, notificationTopics, type PushSubscriptionPut } from '@station/protocol/notifications';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import type { SecretBox } from '../store/secret-box.ts';
import type { PushKeys } from './web-push.ts';

const usualPreferences: NotificationPreferences = {
  email: false,
  topics: [...notificationTopics],
  quiet: null,
  language: 'en',
};

export type Subscription = { id: string; userId: string; language: Language };
export type ListedSubscription = { id: string; sessionId: string; userAgent: string | null; since: number };
export type Person = { userId: string; preferences: NotificationPreferences };
/** `at`: since when. */
export type Told = { key: string; state: string; at: number };

/** Browsers of one user; the oldest goes. */
const mostSubscriptions = 20;

/** What people want, their browsers, and what they were told. */
export type NotificationStore = {
  preferencesOf(userId: string): Promise<NotificationPreferences>;
  setPreferences(userId: string, preferences: NotificationPreferences): Promise<void>;
  /** Everybody who may see the whole station. */
  people(): Promise<Person[]>;
  /** Null also for somebody who may see some zones only. */
  addressOf(userId: string): Promise<string | null>;
  /** Of the same browser the new one replaces the old one. */
  subscribe(owner: { userId: string; sessionId: string }, subscription: PushSubscriptionPut): Promise<string>;
  subscriptions(): Promise<Subscription[]>;
  subscriptionsOf(userId: string): Promise<ListedSubscription[]>;
  /** Address and keys; null: it ended, or the key that it was encrypted with is gone. */
  pushKeysOf(id: string): Promise<(PushKeys & { language: Language }) | null>;
  /** @returns whether there was one; `userId`: only of this user. */
  unsubscribe(id: string, userId?: string): Promise<boolean>;
  told(): Promise<Told[]>;
  /** Null removes it. */
  setTold(key: string, state: string | null): Promise<void>;
};

/** What people are told names devices of the whole station: a limited member is told nothing. */
const seesAll = sql<SqlBool>`
  (users.role != 'member' or users.id not in (select user_id from member_limits))`;

const sealedFor = (id: string): string => `push ${id}`;

export function createNotificationStore(parts: { db: Database; box: SecretBox; clock: Clock }): NotificationStore {
  const { db, box, clock } = parts;
  return {
    preferencesOf: async (userId) => {
      const row = db.selectFrom('notification_preferences').select('preferences').where('user_id', '=', userId);
      return readPreferences((await row.executeTakeFirst())?.preferences ?? null);
    },
    setPreferences: async (userId, preferences) => {
      const set = { preferences: JSON.stringify(preferences) };
      await db
        .insertInto('notification_preferences')
        .values({ user_id: userId, ...set })
        .onConflict((conflict) => conflict.column('user_id').doUpdateSet(set))
        .execute();
    },
    people: () => listPeople(db),
    addressOf: async (userId) => {
      const row = db
        .selectFrom('users')
        .select('email')
        .where('id', '=', userId)
        .where('closed_at', 'is', null)
        .where(seesAll);
      return (await row.executeTakeFirst())?.email ?? null;
    },
    subscribe: (owner, subscription) => subscribe({ db, box, clock }, owner, subscription),
    subscriptions: async () => {
      const rows = await db.selectFrom('push_subscriptions').select(['id', 'user_id', 'language']).execute();
      return rows.map(({ id, user_id: userId, language }) => ({ id, userId, language: knownLanguage(language) }));
    },
    subscriptionsOf: (userId) => listOf(db, userId),
    pushKeysOf: async (id) => {
      const row = db.selectFrom('push_subscriptions').select(['sealed', 'language']).where('id', '=', id);
      const found = await row.executeTakeFirst();
      if (found === undefined) return null;
      const opened = box.open(found.sealed, sealedFor(id));
      return opened === null ? null : { ...(JSON.parse(opened) as PushKeys), language: knownLanguage(found.language) };
    },
    unsubscribe: async (id, userId) => {
      const one = db.deleteFrom('push_subscriptions').where('id', '=', id);
      const removed = await (userId === undefined ? one : one.where('user_id', '=', userId)).executeTakeFirst();
      return removed.numDeletedRows > 0n;
    },
    told: () => db.selectFrom('alert_states').selectAll().execute(),
    setTold: (key, state) => writeTold(db, key, state, clock.now()),
  };
}

async function listPeople(db: Database): Promise<Person[]> {
  const rows = await db
    .selectFrom('users')
    .leftJoin('notification_preferences', 'notification_preferences.user_id', 'users.id')
    .select(['users.id', 'notification_preferences.preferences'])
    .where('users.closed_at', 'is', null)
    .where(seesAll)
    .where(({ eb, or, selectFrom }) =>
      or([
        eb('users.id', 'in', selectFrom('station').select('owner_id').where('owner_id', 'is not', null)),
        eb('users.id', 'in', selectFrom('station_members').select('user_id')),
      ]),
    )
    .execute();
  return rows.map(({ id, preferences }) => ({ userId: id, preferences: readPreferences(preferences) }));
}

/** As `setTold`; also in a transaction. */
export async function writeTold(
  db: Database | DatabaseTransaction,
  key: string,
  state: string | null,
  at: number,
): Promise<void> {
  if (state === null) {
    await db.deleteFrom('alert_states').where('key', '=', key).execute();
    return;
  }
  await db
    .insertInto('alert_states')
    .values({ key, state, at })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ state, at }))
    .execute();
}

function readPreferences(text: string | null): NotificationPreferences {
  if (text === null) return usualPreferences;
  const kept = JSON.parse(text) as { language?: unknown };
  const value: unknown = { ...kept, language: knownLanguage(String(kept.language)) };
  return Value.Check(NotificationPreferences, value) ? value : usualPreferences;
}

function subscribe(
  { db, box, clock }: { db: Database; box: SecretBox; clock: Clock },
  { userId, sessionId }: { userId: string; sessionId: string },
  { endpoint, keys, language }: PushSubscriptionPut,
): Promise<string> {
  const id = randomUUIDv7();
  const hash = createHash('sha256').update(endpoint).digest('hex');
  return db.transaction().execute(async (transaction) => {
    await transaction.deleteFrom('push_subscriptions').where('endpoint_hash', '=', hash).execute();
    await transaction
      .insertInto('push_subscriptions')
      .values({
        id,
        user_id: userId,
        session_id: sessionId,
        endpoint_hash: hash,
        language,
        created_at: clock.now(),
        sealed: box.seal(JSON.stringify({ endpoint, keys }), sealedFor(id)),
      })
      .execute();
    const kept = transaction
      .selectFrom('push_subscriptions')
      .select('id')
      .where('user_id', '=', userId)
      .orderBy('id', 'desc')
      .limit(mostSubscriptions);
    await transaction
      .deleteFrom('push_subscriptions')
      .where('user_id', '=', userId)
      .where('id', 'not in', kept)
      .execute();
    return id;
  });
}

async function listOf(db: Database, userId: string): Promise<ListedSubscription[]> {
  const rows = await db
    .selectFrom('push_subscriptions')
    .innerJoin('sessions', 'sessions.id', 'push_subscriptions.session_id')
    .select([
      'push_subscriptions.id',
      'push_subscriptions.session_id',
      'push_subscriptions.created_at',
      'sessions.user_agent',
    ])
    .where('push_subscriptions.user_id', '=', userId)
    .orderBy('push_subscriptions.id', 'desc')
    .execute();
  return rows.map((row) => ({
    id: row.id,
    sessionId: row.session_id,
    userAgent: row.user_agent,
    since: row.created_at,
  }));
}
