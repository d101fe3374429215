import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';

/** Why a message was dropped. */
export const dropReasons = [
  'bad_topic',
  'foreign_station',
  'foreign_device',
  'too_large',
  'bad_shape',
  'unknown_device',
  'not_written',
  /** Dropped in part: the rest exceeds the limits of the device's state. */
  'state_full',
] as const;
export type DropReason = (typeof dropReasons)[number];

export type DroppedMessages = {
  drop(reason: DropReason, topic: string): void;
  count(reason: DropReason): number;
};

/** Longest topic and user name in the log: the sender of a bad message chooses them. */
const topicLength = 120;
const nameLength = 64;

/** Counts what is dropped, and logs it: the first at once, then at most once a minute for each reason. */
export function createDroppedMessages({ clock, logger }: { clock: Clock; logger: BackendLogger }): DroppedMessages {
  const counter = createRateLimitedCounter<DropReason, string>({
    clock,
    report: ({ key: reason, sinceReport: count, detail: topic }) =>
      logger.event('mqtt_message_dropped', { reason, count, topic: topic.slice(0, topicLength) }),
  });
  return { drop: counter.count, count: counter.total };
}

/** Logs refused logins with their count: the first at once, then at most once a minute. */
export function createRefusedLogins({ clock, logger }: { clock: Clock; logger: BackendLogger }) {
  const counter = createRateLimitedCounter<'refused', string>({
    clock,
    report: ({ sinceReport: count, detail: externalId }) =>
      logger.event('mqtt_login_refused', { count, externalId: externalId.slice(0, nameLength) }),
  });
  return (externalId: string): void => counter.count('refused', externalId);
}
