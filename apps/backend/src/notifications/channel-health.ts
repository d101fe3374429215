import { type ChannelFault, type NotificationChannel, notificationChannels } from '@station/protocol/notifications';
import type { BackendConditions } from '../core/conditions.ts';
import { failuresUntilFault } from './delivery-decide.ts';
import type { NotificationStore, Told } from './notification-store.ts';

/** How each channel does, for people. Kept with what was told: a fault stays visible after a restart and on every replica. */
export type ChannelHealth = {
  sent(channel: NotificationChannel): Promise<void>;
  /**
   * @param createdAt of the message, milliseconds since the epoch. What was sent later shows that the channel works: it is this receiver
   * who cannot be reached.
   */
  failed(channel: NotificationChannel, fault: ChannelFault, createdAt: number): Promise<void>;
  /** The channel was changed or turned off: what was wrong may no longer be. */
  clear(channel: NotificationChannel): Promise<void>;
  /** Raises or clears the condition. */
  show(): Promise<void>;
  /** Another replica leads now. */
  forget(): void;
};

const faultKey = (channel: NotificationChannel): string => `fault:${channel}`;
const sentKey = (channel: NotificationChannel): string => `sent:${channel}`;

export function createChannelHealth(parts: {
  store: Pick<NotificationStore, 'told' | 'setTold'>;
  conditions: Pick<BackendConditions, 'set'>;
}): ChannelHealth {
  const { store, conditions } = parts;
  const failures = new Map<NotificationChannel, number>();
  const show = async (): Promise<void> => {
    const faulty = channelsOf(await store.told()).filter(({ fault }) => fault !== null);
    conditions.set('notifications_failing', faulty.length > 0, { channels: faulty.map(({ channel }) => channel) });
  };
  const clear = async (channel: NotificationChannel): Promise<void> => {
    failures.delete(channel);
    await store.setTold(faultKey(channel), null);
    await show();
  };
  return {
    show,
    clear,
    sent: async (channel) => {
      await store.setTold(sentKey(channel), '');
      await clear(channel);
    },
    failed: async (channel, fault, createdAt) => {
      const facts = channelsOf(await store.told()).find((one) => one.channel === channel);
      if ((facts?.sentAt ?? -Infinity) >= createdAt) return;
      const count = (failures.get(channel) ?? 0) + 1;
      failures.set(channel, count);
      // The first moment of a fault stays.
      if (count === failuresUntilFault) await store.setTold(faultKey(channel), fault);
      await show();
    },
    forget: () => {
      failures.clear();
      conditions.set('notifications_failing', false);
    },
  };
}

export type ChannelFacts = {
  channel: NotificationChannel;
  sentAt: number | null;
  fault: { reason: ChannelFault; since: number } | null;
};

export function channelsOf(told: readonly Told[]): ChannelFacts[] {
  const find = (key: string): Told | undefined => told.find((one) => one.key === key);
  return notificationChannels.map((channel) => {
    const fault = find(faultKey(channel));
    return {
      channel,
      sentAt: find(sentKey(channel))?.at ?? null,
      fault: fault === undefined ? null : { reason: fault.state as ChannelFault, since: fault.at },
    };
  });
}
