import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';

/** Why a message was dropped. */
export const dropReasons = [
  'bad_topic',
  'foreign_station',
  'foreign_device',
  'too_large',
  'event_too_large',
  'bad_encoding',
  'bad_shape',
  /** Dropped in part: a key or a value of the message. */
  'bad_key',
  'bad_value',
  /** Dropped in part: a value that is not of the kind that the type declares. */
  'wrong_kind',
  'unknown_device',
  'not_written',
  /** Dropped in part: the rest exceeds the limits of the device's state. */
  'state_full',
] as const;
export type DropReason = (typeof dropReasons)[number];

export type DroppedMessages = {
  /** @param deviceId set when a device of the station sent it: such messages are logged for each device. */
  drop(reason: DropReason, topic: string, deviceId?: string): void;
  count(reason: DropReason): number;
};

/** Longest topic in the log: the sender of a bad message chooses it. */
const topicLength = 120;

/** A device that the station does not have goes on for days; the condition `unknown_devices` shows it. */
const unknownDeviceEveryMs = 60 * 60_000;

/**
 * Counts what is dropped, and logs it: the first at once, then at most once a minute for each reason and device, and once an hour for
 * devices that the station does not have.
 */
export function createDroppedMessages({ clock, logger }: { clock: Clock; logger: BackendLogger }): DroppedMessages {
  const totals = new Map<DropReason, number>();
  const counting = (everyMs?: number) =>
    createRateLimitedCounter<string, { reason: DropReason; topic: string }>({
      clock,
      ...(everyMs === undefined ? {} : { everyMs }),
      report: ({ sinceReport: count, detail: { reason, topic } }) =>
        logger.event('mqtt_message_dropped', { reason, count, topic: topic.slice(0, topicLength) }),
    });
  const usual = counting();
  const unknownDevices = counting(unknownDeviceEveryMs);
  return {
    drop: (reason, topic, deviceId = '') => {
      totals.set(reason, (totals.get(reason) ?? 0) + 1);
      const counter = reason === 'unknown_device' ? unknownDevices : usual;
      counter.count(`${reason} ${deviceId}`, { reason, topic });
    },
    count: (reason) => totals.get(reason) ?? 0,
  };
}
