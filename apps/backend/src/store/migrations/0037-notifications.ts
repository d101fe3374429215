import { sql } from 'kysely';
import type { StationMigration } from '../migrate.ts';

/** Notifications to people: what they want, where it goes, what waits, and what they were already told. */
export const notifications: StationMigration = {
  name: '0037-notifications',
  up: async (db) => {
    await db.schema
      .createTable('notification_preferences')
      .addColumn('user_id', 'text', (column) => column.primaryKey().references('users.id').onDelete('cascade'))
      .addColumn('preferences', 'text', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('push_subscriptions')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('user_id', 'text', (column) => column.notNull().references('users.id').onDelete('cascade'))
      .addColumn('session_id', 'text', (column) => column.notNull().references('refresh_tokens.id').onDelete('cascade'))
      .addColumn('endpoint_hash', 'text', (column) => column.notNull().unique())
      .addColumn('sealed', 'text', (column) => column.notNull())
      .addColumn('language', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('alert_states')
      .addColumn('key', 'text', (column) => column.primaryKey())
      .addColumn('state', 'text', (column) => column.notNull())
      .addColumn('at', 'bigint', (column) => column.notNull())
      .execute();
    await db.schema
      .createTable('notification_queue')
      .addColumn('id', 'text', (column) => column.primaryKey())
      .addColumn('channel', 'text', (column) => column.notNull())
      .addColumn('user_id', 'text', (column) => column.references('users.id').onDelete('cascade'))
      .addColumn('subscription_id', 'text', (column) => column.references('push_subscriptions.id').onDelete('cascade'))
      .addColumn('alert', 'text', (column) => column.notNull())
      .addColumn('created_at', 'bigint', (column) => column.notNull())
      .addColumn('not_before', 'bigint', (column) => column.notNull())
      .addColumn('expires_at', 'bigint', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull().defaultTo(0))
      .execute();
    for (const [table, column] of [
      ['push_subscriptions', 'session_id'],
      ['push_subscriptions', 'user_id'],
      ['notification_queue', 'subscription_id'],
      ['notification_queue', 'user_id'],
      ['notification_queue', 'not_before'],
    ] as const)
      await db.schema.createIndex(`${table}_${column}`).on(table).column(column).execute();
    // Those of an older release stay as they are: nobody waits for them.
    await db.schema
      .alterTable('notifications')
      .addColumn('is_forwarded', 'integer', (column) => column.notNull().defaultTo(1))
      .execute();
    await sql`create index notifications_unforwarded on notifications (id) where is_forwarded = 0`.execute(db);
  },
};
