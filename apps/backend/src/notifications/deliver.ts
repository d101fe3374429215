import type { Channels, Outcome } from './channels.ts';
import type { NotificationSettings } from './notification-settings.ts';
import type { NotificationStore } from './notification-store.ts';
import type { Queued } from './queue-store.ts';

/** `pointless`: there is nobody to send it to any more. */
type Delivery = Outcome | { kind: 'pointless' };

export type Deliver = (message: Queued) => Promise<Delivery>;

/** Sends one message of the queue to its receiver, as people have set it up now. */
export const createDeliver =
  (parts: {
    channels: Channels;
    settings: Pick<NotificationSettings, 'read'>;
    store: Pick<NotificationStore, 'pushKeysOf' | 'preferencesOf' | 'addressOf' | 'unsubscribe'>;
  }): Deliver =>
  async (message) => {
    const { channels, settings, store } = parts;
    const { id, alert, createdAt: at, userId, subscriptionId } = message;
    const parcel = { id, alert, at };
    const pointless = { kind: 'pointless' } as const;
    switch (message.channel) {
      case 'push': {
        const to = subscriptionId === null ? null : await store.pushKeysOf(subscriptionId);
        if (to === null || subscriptionId === null) return pointless;
        const outcome = await channels.push(parcel, to, to.language);
        if (outcome.kind !== 'failed' || outcome.fault !== 'gone') return outcome;
        await store.unsubscribe(subscriptionId);
        return pointless;
      }
      case 'email': {
        const { mail } = await settings.read();
        const to = userId === null ? null : await store.addressOf(userId);
        if (mail === null || to === null || userId === null) return pointless;
        const { language } = await store.preferencesOf(userId);
        return channels.email(parcel, mail, to, language);
      }
      case 'ntfy': {
        const { ntfy } = await settings.read();
        return ntfy === null ? pointless : channels.ntfy(parcel, ntfy);
      }
      case 'webhook': {
        const { webhook } = await settings.read();
        return webhook === null ? pointless : channels.webhook(parcel, webhook);
      }
    }
  };
