import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { createBackoff } from '@station/kit/retry';
import { createWaker, type Waker } from '@station/kit/wakeable';
import type { Leadership } from '../core/leadership.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import { type Alert, isUrgent, topicOf } from './alert.ts';
import { decideAlerts } from './alerts-decide.ts';
import type { ChannelHealth } from './channel-health.ts';
import type { Outcome } from './channels.ts';
import type { Deliver } from './deliver.ts';
import { type LocalClock, quietFor, retryAfter } from './delivery-decide.ts';
import type { KeptSettings, NotificationSettings } from './notification-settings.ts';
import type { NotificationStore, Person, Subscription } from './notification-store.ts';
import type { Observer } from './observe.ts';
import type { NotificationQueue, Queued, Receiver, Waiting } from './queue-store.ts';

export type NotifierParts = {
  store: NotificationStore;
  queue: NotificationQueue;
  settings: NotificationSettings;
  observer: Observer;
  deliver: Deliver;
  health: ChannelHealth;
  localClock: () => Promise<LocalClock>;
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
/** Messages of each receiver that are read at a time. */
const readAtOnce = 10;
/** A lane that fails this often has a rest, until the loop looks again. */
const failuresUntilRest = 3;

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
  const sender = createSender(parts, sending);
  const running = Promise.all([
    loop('looking for what people must be told', looking, () => look(parts, sending)),
    loop('sending notifications', sending, sender.turn),
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
      await sender.ended();
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
  localClock,
}: NotifierParts): Promise<(alert: Alert) => Receiver[]> {
  const facts = {
    people: await store.people(),
    subscriptions: await store.subscriptions(),
    settings: await settings.read(),
    local: trustedTime.isTrusted() ? await localClock() : null,
  };
  return (alert) => receiversOf(alert, facts);
}

type ReceiverFacts = {
  people: readonly Person[];
  subscriptions: readonly Subscription[];
  settings: KeptSettings;
  /** Null: the clock may be wrong, so no hour is quiet. */
  local: LocalClock | null;
};

/** Who gets an alert, and where. */
function receiversOf(alert: Alert, { people, subscriptions, settings, local }: ReceiverFacts): Receiver[] {
  if (alert.kind === 'test') return [];
  const topic = topicOf[alert.kind];
  const personal = people
    .filter(({ preferences }) => preferences.topics.includes(topic))
    .flatMap(({ userId, preferences }): Receiver[] => {
      const quietMs = local === null || isUrgent(alert) ? 0 : quietFor(preferences.quiet, local);
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

/** Messages that wait for one another: those of one server, or of one browser. Its push service is the choice of its user. */
const laneOf = ({ channel, subscriptionId }: Waiting): string => subscriptionId ?? channel;

type Sender = {
  /** Of the sending loop: begins what is due, in each lane that is free. */
  turn(): Promise<number>;
  /** After the loop: what was under way has ended. */
  ended(): Promise<unknown>;
};

function createSender(parts: NotifierParts, sending: Waker): Sender {
  const { queue, leadership, trustedTime, clock, logger, signal } = parts;
  const busy = new Map<string, Promise<void>>();
  let forwardedMs = -Infinity;
  let trimmedMs = -Infinity;
  const send = async (lane: string, messages: readonly Waiting[]): Promise<void> => {
    try {
      if (await sendAll(parts, messages)) sending.wake();
    } catch (error) {
      if (!signal.aborted) logger.failed('sending notifications', error);
    } finally {
      busy.delete(lane);
    }
  };
  const trim = async (): Promise<void> => {
    for (const [channel, count] of await queue.trim(trustedTime.areAgesTrue()))
      logger.event('notification_dropped', {
        channel,
        count,
        reason: 'It was not sent for a day, or too many wait.',
      });
  };
  return {
    turn: async () => {
      if (!leadership.isLeader()) return sendEveryMs;
      const waitMs = forwardedMs + gatherMs - clock.monotonic();
      if (waitMs <= 0 && (await queue.forward(await receiversNow(parts)))) forwardedMs = clock.monotonic();
      if (clock.monotonic() - trimmedMs >= trimEveryMs) {
        trimmedMs = clock.monotonic();
        await trim();
      }
      for (const [lane, messages] of Map.groupBy(await queue.due(readAtOnce), laneOf))
        if (!busy.has(lane)) busy.set(lane, send(lane, messages));
      const nextInMs = (await queue.nextInMs()) ?? sendEveryMs;
      return Math.max(Math.min(nextInMs, sendEveryMs, waitMs > 0 ? waitMs : Infinity), 1_000);
    },
    ended: () => Promise.all(busy.values()),
  };
}

/** @returns whether the lane may go on at once with what else is due. */
async function sendAll(parts: NotifierParts, messages: readonly Waiting[]): Promise<boolean> {
  let failures = 0;
  for (const { id } of messages) {
    if (parts.signal.aborted || !parts.leadership.isLeader()) return false;
    const message = await parts.queue.read(id);
    if (message !== null && !(await sendOne(parts, message))) failures += 1;
    if (failures === failuresUntilRest) return false;
  }
  return true;
}

/** @returns false when it failed and is tried again later. A crash between sending and removing sends it again, with the same id. */
async function sendOne(parts: NotifierParts, message: Queued): Promise<boolean> {
  const { queue, deliver, health, logger, random } = parts;
  const { id, channel, alert, createdAt } = message;
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
  await health.failed(channel, outcome.fault, createdAt);
  logger.event('notification_failed', {
    id,
    channel,
    reason: `${outcome.fault}: ${outcome.detail}`,
    attempt,
    retryInMs,
  });
  return false;
}
