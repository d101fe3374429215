import type { Generated } from 'kysely';

declare module '../store/schema.ts' {
  interface Schema {
    notification_preferences: NotificationPreferencesTable;
    notification_queue: NotificationQueueTable;
    push_subscriptions: PushSubscriptionsTable;
    alert_states: AlertStatesTable;
  }
}

/** JSON of what a user wants to be told; no row: the usual. */
type NotificationPreferencesTable = { user_id: string; preferences: string };

/** One row for each message and receiver, until it is sent or expires. */
type NotificationQueueTable = {
  /** UUIDv7: sorts by time. */
  id: string;
  channel: 'push' | 'email' | 'ntfy' | 'webhook';
  /** Of `push` and `email`. */
  user_id: string | null;
  subscription_id: string | null;
  /** JSON of an `Alert`. */
  alert: string;
  created_at: number;
  not_before: number;
  expires_at: number;
  attempts: Generated<number>;
};

/** A browser that shows notifications, until its session or its user ends. */
type PushSubscriptionsTable = {
  id: string;
  user_id: string;
  session_id: string;
  /** SHA-256 (hex) of the address at the push service. */
  endpoint_hash: string;
  /** Encrypted JSON: address and keys. */
  sealed: string;
  language: string;
  created_at: number;
};

/** What people were already told, by subject (`alerts-decide.ts`). */
type AlertStatesTable = { key: string; state: string; at: number };
