import assert from 'node:assert/strict';
import type { Direction, FrameAction, ReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';
import { leapOverSilence, type LeapingClock } from './leaping-clock.ts';

/** Faults that a network can cause. */
const actions: { name: string; action: FrameAction }[] = [
  { name: 'connection cut before the frame', action: 'cut' },
  { name: 'connection cut after the frame', action: 'cut_after' },
  { name: 'frame delayed', action: { delayMs: 60 } },
  { name: 'frame overtaken', action: { overtakenMs: 60 } },
  { name: 'connection stalled at the frame', action: 'stall' },
];
/** Whether later messages arrive before this one. */
export const isOvertaking = (action: FrameAction): boolean => typeof action === 'object' && 'overtakenMs' in action;
const directions: Direction[] = ['from_station', 'to_station'];
/** An upper limit for the messages of a round. */
const maxMessages = 14;

export type Round = {
  number: number;
  direction: Direction;
  action: FrameAction;
  /** Messages that the network has received so far. */
  messages: { direction: Direction; text: string }[];
  /** Ends the faults of the network. */
  endFaults(): void;
};

/**
 * Repeats the same round: the network fails at the first message, then at the second, and so on, until a round has
 * fewer messages. This is done in each direction and with each fault. The leaping clock triggers the pings that detect
 * a stalled connection.
 * @param least minimum number of messages of a round.
 * @returns the number of rounds, and of rounds with a fault.
 */
export async function sweep(options: {
  cloud: ReferenceCloud;
  clock: LeapingClock;
  least: Record<Direction, number>;
  /** Runs before each round, without faults. */
  prepare?(): Promise<void>;
  round(round: Round): Promise<void>;
}): Promise<{ rounds: number; failures: number }> {
  const { cloud, clock, least } = options;
  let rounds = 0;
  let failures = 0;
  for (const direction of directions) {
    for (const { name, action } of actions) {
      let at = 0;
      for (; at < maxMessages; at += 1) {
        const failed = await play(direction, action, at).catch((cause: unknown) => {
          throw new Error(`${direction}: ${name}, at message ${at}`, { cause });
        });
        if (!failed) break;
        failures += 1;
      }
      assert.ok(at >= least[direction], `${direction}: ${name}, at only ${at} messages`);
    }
  }
  return { rounds, failures };

  async function play(direction: Direction, action: FrameAction, at: number): Promise<boolean> {
    await options.prepare?.();
    let count = 0;
    let isHealed = false;
    const messages: Round['messages'] = [];
    cloud.options.frameAction = (way, text) => {
      messages.push({ direction: way, text });
      if (isHealed || way !== direction || count++ !== at) return 'pass';
      // After all messages of the same moment are sent.
      const attempts = cloud.attempts.length;
      if (action === 'stall') setImmediate(() => void leapOverSilence(clock, () => cloud.attempts.length > attempts));
      return action;
    };
    const endFaults = (): void => {
      isHealed = true;
    };
    await options.round({ number: rounds, direction, action, messages, endFaults: endFaults });
    cloud.options.frameAction = () => 'pass';
    rounds += 1;
    return count > at;
  }
}
