import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { createBackoff } from '@station/kit/retry';
import { createWaker, type Waker } from '@station/kit/wakeable';
import type { NotificationChannel } from '@station/protocol/notifications';
import type { Leadership } from '../core/leadership.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import { type Alert, isUrgent, topicOf } from './alert.ts';
import { decideAlerts } from './alerts-decide.ts';
import type { ChannelHealth } from './channel-health.ts';
import type { Outcome } from './channels.ts';
import type { Deliver } from './deliver.ts';
import { quietFor, retryAfter } from './delivery-decide.ts';
import type { KeptSettings, NotificationSettings } from './notification-settings.ts';
import type { NotificationStore, Person, Subscription } from './notification-store.ts';
import type { Observer } from './observe.ts';
import type { NotificationQueue, Queued, Receiver } from './queue-store.ts';

export type NotifierParts = {
  store: NotificationStore;
  queue: NotificationQueue;
  settings: NotificationSettings;
  observer: Observer;
  deliver: Deliver;
  health: ChannelHealth;
  /** Minutes since midnight where the station is. */
  localMinutes: () => Promise<number>;
  leadership: Leadership;
  trustedTime: TrustedTime;
  clock: Clock;
  random: () => number;
  logger: BackendLogger;
  /** Ends both loops, and the message that is being sent. */
  signal: AbortSignal;
};

export type Notifier = AsyncDisposable & {
  /** Something happened that people may have to be told. */
  look(): void;
  /** Something may be in the queue. */
  send(): void;
};

const lookEveryMs = 15_000;
/** Finds messages of other replicas, and messages without a wake-up. */
const sendEveryMs = 30_000;
/** Messages of automations that follow one another so fast share a notification. */
const gatherMs = 5_000;
const trimEveryMs = 60_000;
/** Messages that are read at a time. */
const readAtOnce = 50;
/** A channel that fails this often in one turn is left until the next one. */
const failuresAtOnce = 3;

/** Two loops: one looks what people must be told and puts it into the queue, the other one sends the queue. Only the leader does either. */
export function startNotifier(parts: NotifierParts): Notifier {
  const { clock, leadership, logger, random, signal } = parts;
  const looking = createWaker(clock);
  const sending = createWaker(clock);
  const loop = (where: string, waker: Waker, turn: () => Promise<number>): Promise<void> =>
    runLoop({
      turn,
      waker,
      clock,
      signal,
      backoff: createBackoff({ initialMs: 1_000, maxMs: 60_000, jitter: 0.2, random }),
      onFailure: ({ error }) => logger.failed(where, error),
    });
  const sender = createSender(parts);
  const running = Promise.all([
    loop('looking for what people must be told', looking, () => look(parts, sending)),
    loop('sending notifications', sending, sender),
  ]);
  const leading = leadership.subscribe(() => {
    looking.wake();
    sending.wake();
  });
  return {
    look: () => looking.wake(),
    send: () => sending.wake(),
    [Symbol.asyncDispose]: async () => {
      leading[Symbol.dispose]();
      await running.catch(() => undefined);
    },
  };
}

async function look(parts: NotifierParts, sending: Waker): Promise<number> {
  const { observer, settings, queue, leadership, health } = parts;
  if (!leadership.isLeader()) {
    observer.restart();
    health.forget();
    return lookEveryMs;
  }
  await health.show();
  const { rules } = await settings.read();
  const { alerts, remember, forget } = decideAlerts(await observer.observe(rules));
  if (alerts.length === 0 && remember.size === 0 && forget.length === 0) return lookEveryMs;
  const chooseReceivers = await receiversNow(parts);
  await queue.add(
    alerts.map((alert) => ({ alert, receivers: chooseReceivers(alert) })),
    { remember, forget },
  );
  if (alerts.length > 0) sending.wake();
  return lookEveryMs;
}

async function receiversNow({
  store,
  settings,
  trustedTime,
  localMinutes,
}: NotifierParts): Promise<(alert: Alert) => Receiver[]> {
  const facts = {
    people: await store.people(),
    subscriptions: await store.subscriptions(),
    settings: await settings.read(),
    localMinutes: trustedTime.isTrusted() ? await localMinutes() : null,
  };
  return (alert) => receiversOf(alert, facts);
}

type ReceiverFacts = {
  people: readonly Person[];
  subscriptions: readonly Subscription[];
  settings: KeptSettings;
  /** Minutes since midnight where the station is; null: its clock may be wrong, so no hour is quiet. */
  localMinutes: number | null;
};

/** Who gets an alert, and where. */
function receiversOf(alert: Alert, { people, subscriptions, settings, localMinutes }: ReceiverFacts): Receiver[] {
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

/** The turn of the sending loop. */
function createSender(parts: NotifierParts): () => Promise<number> {
  const { queue, leadership, trustedTime, clock, logger } = parts;
  let forwardedMs = -Infinity;
  let trimmedMs = -Infinity;
  return async () => {
    if (!leadership.isLeader()) return sendEveryMs;
    const waitMs = forwardedMs + gatherMs - clock.monotonic();
    if (waitMs <= 0 && (await queue.forward(await receiversNow(parts)))) forwardedMs = clock.monotonic();
    if (clock.monotonic() - trimmedMs >= trimEveryMs) {
      trimmedMs = clock.monotonic();
      for (const [channel, count] of await queue.trim(trustedTime.areAgesTrue()))
        logger.event('notification_dropped', {
          channel,
          count,
          reason: 'It was not sent for a day, or too many wait.',
        });
    }
    const due = await queue.due(readAtOnce);
    const channels = Map.groupBy(due, ({ channel }) => channel);
    // Side by side: a mail server that does not answer must not delay the others.
    await Promise.all([...channels].map(([channel, messages]) => sendAll(parts, channel, messages)));
    if (due.length === readAtOnce) return 1_000;
    const nextInMs = (await queue.nextInMs()) ?? sendEveryMs;
    return Math.max(Math.min(nextInMs, sendEveryMs, waitMs > 0 ? waitMs : Infinity), 1_000);
  };
}

async function sendAll(parts: NotifierParts, channel: NotificationChannel, messages: readonly Queued[]): Promise<void> {
  let failures = 0;
  for (const message of messages) {
    if (parts.signal.aborted || failures >= failuresAtOnce || !parts.leadership.isLeader()) return;
    if (!(await sendOne(parts, channel, message))) failures += 1;
  }
}

/** @returns false when it failed and is tried again later. A crash between sending and removing sends it again, with the same id. */
async function sendOne(parts: NotifierParts, channel: NotificationChannel, message: Queued): Promise<boolean> {
  const { queue, deliver, health, logger, random } = parts;
  const { id, alert } = message;
  const attempt = message.attempts + 1;
  const outcome = await deliver(message).catch((error: unknown): Outcome => {
    parts.signal.throwIfAborted();
    // Tried again later: the messages behind it must not wait for it.
    logger.failed(`sending by ${channel}`, error);
    return { kind: 'failed', fault: 'failed', detail: 'Something went wrong in the station.', retryAfterMs: null };
  });
  if (outcome.kind === 'pointless') {
    await queue.remove(id);
    return true;
  }
  if (outcome.kind === 'sent') {
    await queue.remove(id);
    await health.sent(channel);
    logger.event('notification_sent', { id, channel, kind: alert.kind, attempt });
    return true;
  }
  const retryInMs = retryAfter(attempt, outcome.retryAfterMs, random());
  await queue.retry(id, attempt, retryInMs);
  await health.failed(channel, outcome.fault);
  logger.event('notification_failed', {
    id,
    channel,
    reason: `${outcome.fault}: ${outcome.detail}`,
    attempt,
    retryInMs,
  });
  return false;
}
