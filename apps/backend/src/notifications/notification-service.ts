import { randomUUIDv7 } from 'node:crypto';
import { type Clock, isoTime } from '@station/kit/clock';
import type { RetryDetails } from '@station/kit/http-errors';
import { StationError } from '@station/kit/station-error';
import type {
  ChannelState,
  NotificationChannel,
  NotificationPreferences,
  NotificationsView,
  PushSubscriptionPut,
  StationNotifications,
  StationNotificationsPut,
  TestResult,
} from '@station/protocol/notifications';
import { type ChannelHealth, channelsOf } from './channel-health.ts';
import type { Channels, Outcome, Parcel } from './channels.ts';
import { type NotificationSettings, shownSettings } from './notification-settings.ts';
import type { ListedSubscription, NotificationStore } from './notification-store.ts';
import type { NotificationQueue } from './queue-store.ts';
import { areUsable, publicKeyOf } from './web-push.ts';

/** A user with the session of the request; null: a token without one. */
type Caller = { userId: string; sessionId: string | null };

/** What the routes do. */
export type NotificationService = {
  view(caller: Caller): Promise<NotificationsView>;
  setPreferences(caller: Caller, preferences: NotificationPreferences): Promise<void>;
  subscribe(caller: Caller, subscription: PushSubscriptionPut): Promise<string>;
  unsubscribe(caller: Caller, id: string): Promise<void>;
  testOwn(caller: Caller, channel: 'push' | 'email'): Promise<TestResult>;
  station(): Promise<StationNotifications>;
  changeStation(put: StationNotificationsPut): Promise<StationNotifications>;
  testStation(caller: Caller, channel: 'ntfy' | 'webhook'): Promise<TestResult>;
};

type Parts = {
  store: NotificationStore;
  queue: NotificationQueue;
  settings: NotificationSettings;
  channels: Channels;
  health: ChannelHealth;
  clock: Clock;
  /** Messages may be sent now that could not before. */
  onChanged: () => void;
};

export function createNotificationService(parts: Parts): NotificationService {
  const { store, settings } = parts;
  const limit = createTestLimit(parts.clock);
  return {
    view: (caller) => view(parts, caller),
    setPreferences: ({ userId }, preferences) => store.setPreferences(userId, preferences),
    subscribe: async ({ userId, sessionId }, subscription) => {
      if (sessionId === null) throw new StationError('forbidden', 'Only a browser that is logged in can subscribe.');
      if (!isSecure(subscription.endpoint))
        throw new StationError('validation_failed', 'The address of a push service begins with https.');
      if (!areUsable(subscription.keys))
        throw new StationError('validation_failed', 'The keys of this subscription cannot be used.');
      return store.subscribe({ userId, sessionId }, subscription);
    },
    unsubscribe: async ({ userId }, id) => {
      if (!(await store.unsubscribe(id, userId))) throw new StationError('not_found', 'There is no such subscription.');
    },
    testOwn: (caller, channel) => {
      limit(caller.userId);
      return channel === 'push' ? testPush(parts, caller) : testEmail(parts, caller);
    },
    station: async () => shownSettings(await settings.read()),
    changeStation: (put) => changeStation(parts, put),
    testStation: async ({ userId }, channel) => {
      limit(userId);
      const { ntfy, webhook } = await settings.read();
      const { channels } = parts;
      if (channel === 'ntfy' && ntfy !== null) return resultOf(parts, channel, channels.ntfy(testParcel(parts), ntfy));
      if (channel === 'webhook' && webhook !== null)
        return resultOf(parts, channel, channels.webhook(testParcel(parts), webhook));
      throw notSet();
    },
  };
}

/** As browsers see it: the machine itself needs no encryption. Whether it may be called at all is up to AUTOMATION_WEBHOOK_ALLOW. */
function isSecure(endpoint: string): boolean {
  const url = URL.parse(endpoint);
  return url?.protocol === 'https:' || url?.hostname === '127.0.0.1';
}

const notSet = (): StationError => new StationError('channel_not_set', 'This channel is not set up.');

async function view({ store, settings, queue }: Parts, { userId, sessionId }: Caller): Promise<NotificationsView> {
  const [kept, preferences, email, listed, told, retrying, vapid] = await Promise.all([
    settings.read(),
    store.preferencesOf(userId),
    store.addressOf(userId),
    store.subscriptionsOf(userId),
    store.told(),
    queue.retrying(),
    settings.vapid(),
  ]);
  const isSet = {
    push: listed.length > 0,
    email: kept.mail !== null,
    ntfy: kept.ntfy !== null,
    webhook: kept.webhook !== null,
  };
  const states = channelsOf(told).map(({ channel, sentAt, fault }): [NotificationChannel, ChannelState] => [
    channel,
    {
      isSet: isSet[channel],
      sentAt: sentAt === null ? null : isoTime(sentAt),
      fault: fault && { reason: fault.reason, since: isoTime(fault.since) },
      waiting: retrying.get(channel) ?? 0,
    },
  ]);
  return {
    preferences,
    email: email ?? '',
    push: {
      publicKey: publicKeyOf(vapid),
      subscriptions: listed.map(({ id, sessionId: session, userAgent, since }: ListedSubscription) => ({
        id,
        isThisSession: session === sessionId,
        userAgent,
        since: isoTime(since),
      })),
    },
    channels: Object.fromEntries(states) as NotificationsView['channels'],
  };
}

async function changeStation(
  { settings, queue, health, onChanged }: Parts,
  put: StationNotificationsPut,
): Promise<StationNotifications> {
  if (put.mail?.security === 'none' && put.mail.username !== '')
    throw new StationError('validation_failed', 'Without encryption no password is sent. Use TLS, or no user name.');
  for (const url of [put.ntfy?.url, put.webhook?.url])
    if (url !== undefined && !URL.canParse(url)) throw new StationError('validation_failed', 'This is not an address.');
  if (put.webhook !== null && put.webhook.url === undefined && (await settings.read()).webhook === null)
    throw new StationError('validation_failed', 'The webhook needs an address.');
  const changed = await settings.change(put);
  for (const channel of ['email', 'ntfy', 'webhook'] as const) {
    await health.clear(channel);
    await queue.hurry(channel);
  }
  onChanged();
  return shownSettings(changed);
}

const testParcel = ({ clock }: Parts): Parcel => ({ id: randomUUIDv7(), alert: { kind: 'test' }, at: clock.now() });

async function testPush(parts: Parts, { userId, sessionId }: Caller): Promise<TestResult> {
  const { store, channels } = parts;
  const own = (await store.subscriptionsOf(userId)).find((one) => one.sessionId === sessionId);
  const to = own === undefined ? null : await store.pushKeysOf(own.id);
  if (own === undefined || to === null) throw notSet();
  const result = await resultOf(parts, 'push', channels.push(testParcel(parts), to, to.language));
  if (result.fault === 'gone') await store.unsubscribe(own.id);
  return result;
}

async function testEmail(parts: Parts, { userId }: Caller): Promise<TestResult> {
  const { store, settings, channels } = parts;
  const { mail } = await settings.read();
  const to = await store.addressOf(userId);
  if (mail === null || to === null) throw notSet();
  const { language } = await store.preferencesOf(userId);
  return resultOf(parts, 'email', channels.email(testParcel(parts), mail, to, language));
}

/** A test that arrives also ends the waiting of what could not be sent. */
async function resultOf(
  { health, queue, onChanged }: Parts,
  channel: NotificationChannel,
  sending: Promise<Outcome>,
): Promise<TestResult> {
  const outcome = await sending;
  if (outcome.kind === 'failed') return { fault: outcome.fault, detail: outcome.detail };
  await health.sent(channel);
  await queue.hurry(channel);
  onChanged();
  return { fault: null, detail: null };
}

const testsAMinute = 10;

/** Tests reach other people's servers: a few a minute are enough. */
function createTestLimit(clock: Pick<Clock, 'monotonic'>): (userId: string) => void {
  const times = new Map<string, number[]>();
  return (userId) => {
    const now = clock.monotonic();
    const recent = (times.get(userId) ?? []).filter((at) => now - at < 60_000);
    if (recent.length >= testsAMinute) {
      const details: RetryDetails = { retryAfterSeconds: 60 };
      throw new StationError('too_many_requests', 'Too many tests. Wait a minute, then try again.', { details });
    }
    times.set(userId, [...recent, now]);
  };
}
