import type { OutgoingProxy } from '@station/kit/outgoing-proxy';
import type { ServerMessage } from '@station/protocol/socket';
import { localTime, untilTime } from '../core/local-time.ts';
import { type Module, opened } from '../platform/module.ts';
import type { SecretBox } from '../store/secret-box.ts';
import { registerNotificationRoutes } from './notification-routes.ts';
import { type NotificationsParts, startNotifications } from './notifications.ts';

type NotificationsNeeds = {
  config: NotificationsConfig;
  box: SecretBox;
  settings: NotificationsParts['settings'];
  /** What is not well besides what the platform knows, and how it is called. */
  facts: Pick<NotificationsParts, 'isBrokerReady' | 'cloudConditions' | 'typeNames'>;
  /** Messages that are broadcast at /ws. */
  messages: { subscribe(listener: (message: ServerMessage) => void): Disposable };
};

type NotificationsConfig = {
  /** Private addresses that members' browsers and webhooks may name. */
  webhookAllow: readonly string[];
  proxy: OutgoingProxy;
};

export const notificationsModule: Module<NotificationsNeeds, null> = {
  open: async (platform, { config, facts, messages, ...needs }) => {
    const { host, store, station, stationId, conditions, events, leadership, trustedTime, agent } = platform;
    await using opening = new AsyncDisposableStack();
    const notifications = opening.use(
      startNotifications({
        ...needs,
        ...facts,
        db: store.db,
        logged: store.logged,
        station,
        stationId,
        conditions,
        events,
        leadership,
        trustedTime,
        clock: host.clock,
        random: host.random,
        logger: host.logger,
        agent: agent.isConfigured ? agent : null,
        allow: config.webhookAllow,
        proxy: config.proxy,
        localClock: (epochMs, timeZone) => ({
          minutes: localTime(epochMs, timeZone).minutes,
          until: (time) => untilTime(time, epochMs, timeZone),
        }),
      }),
    );
    opening.use(messages.subscribe(({ type }) => type === 'agent_event' && notifications.noteAgentEvent()));
    return opened(opening.move(), null, { serve: ({ app }) => registerNotificationRoutes(app, notifications) });
  },
};
