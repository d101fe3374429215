import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';

/** Why a message was not taken. */
export const dropReasons = [
  'bad_topic',
  'foreign_station',
  'foreign_device',
  'too_large',
  'bad_shape',
  'unknown_device',
  'not_written',
  /** Only in part: the state of its device has no room for the rest. */
  'state_full',
] as const;
export type DropReason = (typeof dropReasons)[number];

export type DroppedMessages = {
  drop(reason: DropReason, topic: string): void;
  count(reason: DropReason): number;
};

const reportEveryMs = 60_000;
/** Of a topic, in the log: whoever sends bad ones chooses them. */
const topicLength = 120;

/** Counts what is dropped, and says so: the first at once, then at most once a minute for each reason, with how many there were. */
export function createDroppedMessages({ clock, logger }: { clock: Clock; logger: BackendLogger }): DroppedMessages {
  const all = new Map<DropReason, { total: number; untold: number; toldMs: number }>();
  return {
    drop: (reason, topic) => {
      const entry = all.get(reason) ?? { total: 0, untold: 0, toldMs: -Infinity };
      all.set(reason, entry);
      entry.total += 1;
      entry.untold += 1;
      const nowMs = clock.monotonic();
      if (nowMs - entry.toldMs < reportEveryMs) return;
      logger.event('mqtt_message_dropped', { reason, count: entry.untold, topic: topic.slice(0, topicLength) });
      entry.untold = 0;
      entry.toldMs = nowMs;
    },
    count: (reason) => all.get(reason)?.total ?? 0,
  };
}
