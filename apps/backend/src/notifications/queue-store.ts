import type { Clock } from '@station/kit/clock';
import type { NotificationChannel } from '@station/protocol/notifications';
import { createEventIds } from '../core/event-ids.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import type { Alert } from './alert.ts';
import { lifetimeMs, mostWaiting, settleHeld } from './delivery-decide.ts';
import { writeTold } from './notification-store.ts';

/** Whom a message is for. `quietMs`: how long it must wait before it may be sent. */
export type Receiver = {
  channel: NotificationChannel;
  userId: string | null;
  subscriptionId: string | null;
  quietMs: number;
};

export type Queued = {
  id: string;
  channel: NotificationChannel;
  userId: string | null;
  subscriptionId: string | null;
  alert: Alert;
  createdAt: number;
  attempts: number;
};

export type Waiting = Pick<Queued, 'id' | 'channel' | 'subscriptionId'>;

type NewMessages = { alert: Alert; receivers: readonly Receiver[] };

/** Messages of automations that one notification lists. */
const mostListed = 5;

/** Messages from the moment somebody must be told until they are sent: a crash loses none. */
export type NotificationQueue = {
  /** What was told and its messages, in one transaction. */
  add(
    messages: readonly NewMessages[],
    told: { remember: ReadonlyMap<string, string>; forget: readonly string[] },
  ): Promise<void>;
  /** Takes over what automations said. @returns whether there was something. */
  forward(receiversOf: (alert: Alert) => readonly Receiver[]): Promise<boolean>;
  /** Those that may be sent now, receivers in turn; of each receiver the oldest `each`. */
  due(each: number): Promise<Waiting[]>;
  /** @returns null: it is no longer to be sent. */
  read(id: string): Promise<Queued | null>;
  /** Milliseconds until one may be sent that may not be sent now; null: there is none. */
  nextInMs(): Promise<number | null>;
  remove(id: string): Promise<void>;
  retry(id: string, attempts: number, inMs: number): Promise<void>;
  /** Every message of a channel may be sent now: its settings changed. */
  hurry(channel: NotificationChannel): Promise<void>;
  /** Removes what is too old, and of too many the oldest of whoever has most. @returns how many, by channel. */
  trim(areAgesTrue: boolean): Promise<Map<NotificationChannel, number>>;
  /** How many were tried in vain, by channel. */
  retrying(): Promise<Map<NotificationChannel, number>>;
};

export function createNotificationQueue({ db, clock }: { db: Database; clock: Clock }): NotificationQueue {
  // Their order is that of the messages, also within a millisecond.
  const newId = createEventIds(() => clock.now());
  return {
    add: (messages, { remember, forget }) =>
      db.transaction().execute(async (transaction) => {
        const now = clock.now();
        for (const message of messages) await insert(transaction, message, now, newId);
        for (const [key, state] of remember) await writeTold(transaction, key, state, now);
        for (const key of forget) await writeTold(transaction, key, null, now);
      }),
    forward: (receiversOf) => forward({ db, clock, newId }, receiversOf),
    due: (each) =>
      db
        .with('in_turn', (query) =>
          query
            .selectFrom('notification_queue')
            .selectAll()
            .select(({ fn }) => {
              const ofReceiver = ['channel', 'user_id', 'subscription_id'] as const;
              const place = fn.agg<number>('row_number');
              return place.over((rows) => rows.partitionBy(ofReceiver).orderBy('not_before').orderBy('id')).as('turn');
            })
            .where('not_before', '<=', clock.now()),
        )
        .selectFrom('in_turn')
        .select(['id', 'channel', 'subscription_id as subscriptionId'])
        .where('turn', '<=', each)
        .orderBy('turn')
        .orderBy('not_before')
        .orderBy('id')
        .execute(),
    read: async (id) => {
      const row = await db.selectFrom('notification_queue').selectAll().where('id', '=', id).executeTakeFirst();
      if (row === undefined) return null;
      return {
        id,
        channel: row.channel,
        userId: row.user_id,
        subscriptionId: row.subscription_id,
        alert: JSON.parse(row.alert) as Alert,
        createdAt: row.created_at,
        attempts: row.attempts,
      };
    },
    nextInMs: async () => {
      const now = clock.now();
      const next = db.selectFrom('notification_queue').select(({ fn }) => fn.min('not_before').as('at'));
      const { at } = await next.where('not_before', '>', now).executeTakeFirstOrThrow();
      return at === null ? null : Number(at) - now;
    },
    remove: async (id) => void (await db.deleteFrom('notification_queue').where('id', '=', id).execute()),
    retry: async (id, attempts, inMs) => {
      const set = { attempts, not_before: clock.now() + inMs };
      await db.updateTable('notification_queue').set(set).where('id', '=', id).execute();
    },
    hurry: async (channel) => {
      const now = clock.now();
      const tried = db.updateTable('notification_queue').set({ not_before: now }).where('channel', '=', channel);
      await tried.where('attempts', '>', 0).where('not_before', '>', now).execute();
    },
    trim: (areAgesTrue) => trim({ db, clock }, areAgesTrue),
    retrying: async () => {
      const rows = await db
        .selectFrom('notification_queue')
        .select(['channel', ({ fn }) => fn.countAll().as('count')])
        .where('attempts', '>', 0)
        .groupBy('channel')
        .execute();
      return new Map(rows.map(({ channel, count }) => [channel, Number(count)]));
    },
  };
}

async function insert(
  transaction: DatabaseTransaction,
  { alert, receivers }: NewMessages,
  now: number,
  newId: () => string,
): Promise<void> {
  for (const { channel, userId, subscriptionId, quietMs } of receivers) {
    const told = await settle(transaction, alert, { channel, userId, subscriptionId });
    if (told === null) continue;
    await transaction
      .insertInto('notification_queue')
      .values({
        id: newId(),
        channel,
        user_id: userId,
        subscription_id: subscriptionId,
        alert: JSON.stringify(told),
        created_at: now,
        not_before: now + quietMs,
        expires_at: now + quietMs + lifetimeMs,
      })
      .execute();
  }
}

/** Devices that are back before this receiver heard of their outage. @returns what is left to tell. */
async function settle(
  transaction: DatabaseTransaction,
  alert: Alert,
  { channel, userId, subscriptionId }: Omit<Receiver, 'quietMs'>,
): Promise<Alert | null> {
  if (alert.kind !== 'devices_back') return alert;
  const held = await transaction
    .selectFrom('notification_queue')
    .select(['id', 'alert'])
    .where('channel', '=', channel)
    .where('user_id', userId === null ? 'is' : '=', userId)
    .where('subscription_id', subscriptionId === null ? 'is' : '=', subscriptionId)
    // One that was tried may have arrived.
    .where('attempts', '=', 0)
    .execute();
  const settled = settleHeld(
    held.map((row) => ({ id: row.id, alert: JSON.parse(row.alert) as Alert })),
    alert,
  );
  for (const change of settled.changes) {
    if (change.alert === null) await transaction.deleteFrom('notification_queue').where('id', '=', change.id).execute();
    else {
      const set = { alert: JSON.stringify(change.alert) };
      await transaction.updateTable('notification_queue').set(set).where('id', '=', change.id).execute();
    }
  }
  return settled.alert;
}

function forward(
  { db, clock, newId }: { db: Database; clock: Clock; newId: () => string },
  receiversOf: (alert: Alert) => readonly Receiver[],
): Promise<boolean> {
  return db.transaction().execute(async (transaction) => {
    const rows = await transaction
      .updateTable('notifications')
      .set({ is_forwarded: 1 })
      .where('is_forwarded', '=', 0)
      .returning(['id', 'automation_name as name', 'message as text'])
      .execute();
    if (rows.length === 0) return false;
    const messages = rows.toSorted((one, other) => (one.id < other.id ? -1 : 1)).slice(-mostListed);
    const alert: Alert = {
      kind: 'automations',
      messages: messages.map(({ name, text }) => ({ name, text })),
      more: rows.length - messages.length,
    };
    await insert(transaction, { alert, receivers: receiversOf(alert) }, clock.now(), newId);
    return true;
  });
}

async function trim(
  { db, clock }: { db: Database; clock: Clock },
  areAgesTrue: boolean,
): Promise<Map<NotificationChannel, number>> {
  const removed = new Map<NotificationChannel, number>();
  const note = (rows: readonly { channel: NotificationChannel }[]): void => {
    for (const { channel } of rows) removed.set(channel, (removed.get(channel) ?? 0) + 1);
  };
  if (areAgesTrue) {
    const old = db.deleteFrom('notification_queue').where('expires_at', '<=', clock.now());
    note(await old.returning('channel').execute());
  }
  const ranked = db.selectFrom('notification_queue').select(({ fn }) => {
    const rank = fn.agg<number>('row_number');
    return ['id', rank.over((rows) => rows.partitionBy(['channel', 'user_id']).orderBy('id', 'desc')).as('rank')];
  });
  const kept = db.selectFrom(ranked.as('ranked')).select('id').orderBy('rank').orderBy('id', 'desc').limit(mostWaiting);
  note(await db.deleteFrom('notification_queue').where('id', 'not in', kept).returning('channel').execute());
  return removed;
}
