import { type Alert, isUrgent, topicOf } from './alert.ts';
import { quietFor } from './delivery-decide.ts';
import type { KeptSettings } from './notification-settings.ts';
import type { Person, Subscription } from './notification-store.ts';
import type { Receiver } from './queue-store.ts';

export type ReceiverFacts = {
  people: readonly Person[];
  subscriptions: readonly Subscription[];
  settings: KeptSettings;
  /** Minutes since midnight where the station is; null: its clock may be wrong, so no hour is quiet. */
  localMinutes: number | null;
};

/** Who gets an alert, and where. */
export function receiversOf(
  alert: Alert,
  { people, subscriptions, settings, localMinutes }: ReceiverFacts,
): Receiver[] {
  if (alert.kind === 'test') return [];
  const topic = topicOf[alert.kind];
  const personal = people
    .filter(({ preferences }) => preferences.topics.includes(topic))
    .flatMap(({ userId, preferences }): Receiver[] => {
      const isHeld = localMinutes !== null && !isUrgent(alert);
      const quietMs = isHeld ? quietFor(preferences.quiet, localMinutes) : 0;
      const mails = preferences.email && settings.mail !== null;
      return [
        ...subscriptions
          .filter((subscription) => subscription.userId === userId)
          .map(({ id }) => ({ channel: 'push' as const, userId, subscriptionId: id, quietMs })),
        ...(mails ? [{ channel: 'email' as const, userId, subscriptionId: null, quietMs }] : []),
      ];
    });
  const shared = (['ntfy', 'webhook'] as const)
    .filter((channel) => settings[channel]?.topics.includes(topic) === true)
    .map((channel) => ({ channel, userId: null, subscriptionId: null, quietMs: 0 }));
  return [...personal, ...shared];
}
