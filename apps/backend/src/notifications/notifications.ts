import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { OutgoingProxy } from '@station/kit/outgoing-proxy';
import { plainText } from '@station/protocol/plain-text';
import type { AgentClient } from '../core/adapters/agent-client.ts';
import { createAddressGuard, createGuardedHttp, homeNetworks } from '../core/adapters/guarded-http.ts';
import type { BackendConditions } from '../core/conditions.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { Leadership } from '../core/leadership.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { Database } from '../store/schema.ts';
import type { SecretBox } from '../store/secret-box.ts';
import type { StationStore } from '../store/station-store.ts';
import { createChannelHealth } from './channel-health.ts';
import { type Channels, createChannels } from './channels.ts';
import { createDeliver } from './deliver.ts';
import { createNotificationService, type NotificationService } from './notification-service.ts';
import { createNotificationSettings, type NotificationSettings, type SettingsPort } from './notification-settings.ts';
import { createNotificationStore, type NotificationStore } from './notification-store.ts';
import { startNotifier } from './notifier.ts';
import { createObserver, type ObserverParts } from './observe.ts';
import { createNotificationQueue } from './queue-store.ts';
import type { LocalClock } from './delivery-decide.ts';

export type Notifications = AsyncDisposable & {
  service: NotificationService;
  /** The agent reports something about the station. */
  noteAgentEvent(): void;
};

export type NotificationsParts = {
  db: Database;
  logged?: ObserverParts['logged'];
  box: SecretBox;
  settings: SettingsPort;
  station: Pick<StationStore, 'read'>;
  stationId: string;
  conditions: BackendConditions;
  events: DeviceEvents;
  /** Null: this backend has none. */
  agent: Pick<AgentClient, 'call'> | null;
  isBrokerReady: () => boolean;
  cloudConditions: ObserverParts['cloudConditions'];
  typeNames: ObserverParts['typeNames'];
  /** Private addresses that members' browsers and webhooks may name. */
  allow: readonly string[];
  proxy: OutgoingProxy;
  localClock: (epochMs: number, timeZone: string) => LocalClock;
  leadership: Leadership;
  trustedTime: TrustedTime;
  clock: Clock;
  random: () => number;
  logger: BackendLogger;
};

/** Notifications to people (docs/adr/0055). */
export function startNotifications(parts: NotificationsParts): Notifications {
  const { db, box, station, conditions, events, leadership, trustedTime, clock, random, logger } = parts;
  const stack = new AsyncDisposableStack();
  const stopping = new AbortController();
  const { signal } = stopping;
  const store = createNotificationStore({ db, box, clock });
  const queue = createNotificationQueue({ db, clock });
  const settings = createNotificationSettings(parts.settings);
  const channels = openChannels(stack, parts, { store, settings, signal });
  const health = createChannelHealth({ store, conditions });
  const notifier = stack.use(
    startNotifier({
      store,
      queue,
      settings,
      health,
      leadership,
      trustedTime,
      clock,
      random,
      logger,
      signal,
      observer: createObserver({
        db,
        ...(parts.logged && { logged: parts.logged }),
        conditions,
        told: store.told,
        clock,
        agent: parts.agent,
        isBrokerReady: parts.isBrokerReady,
        cloudConditions: parts.cloudConditions,
        typeNames: parts.typeNames,
      }),
      deliver: createDeliver({ channels, settings, store }),
      localClock: async () => parts.localClock(clock.now(), (await station.read()).time_zone),
    }),
  );
  stack.defer(() => stopping.abort());
  stack.use(
    events.subscribe((event) => {
      if (event.kind === 'message' && event.message.type === 'notification') notifier.send();
    }),
  );
  return {
    service: createNotificationService({ store, queue, settings, channels, health, clock, onChanged: notifier.send }),
    noteAgentEvent: notifier.look,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

function openChannels(
  opened: AsyncDisposableStack,
  { allow, proxy, station, stationId, clock }: NotificationsParts,
  { store, settings, signal }: { store: NotificationStore; settings: NotificationSettings; signal: AbortSignal },
): Channels {
  const homeAllow = [...allow, ...homeNetworks];
  return createChannels({
    publicHttp: opened.use(createGuardedHttp({ allow, proxy })),
    homeHttp: opened.use(createGuardedHttp({ allow: homeAllow, proxy })),
    homeGuard: createAddressGuard({ allow: homeAllow }),
    station: async () => ({ id: stationId, name: plainText((await station.read()).name) }),
    vapid: settings.vapid,
    subject: async () => {
      const { owner_id: owner } = await station.read();
      return `mailto:${(owner === null ? null : await store.addressOf(owner)) ?? ''}`;
    },
    now: () => clock.now(),
    signal,
  });
}
