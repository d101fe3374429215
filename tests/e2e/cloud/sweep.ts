import assert from 'node:assert/strict';
import type { Direction, Fate, ReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';
import { leapOverSilence, type LeapingClock } from './leaping-clock.ts';

/** All that a network does. */
const fates: { name: string; fate: Fate }[] = [
  { name: 'is cut before it', fate: 'cut' },
  { name: 'is cut after it', fate: 'cut_after' },
  { name: 'holds it back', fate: { delayMs: 60 } },
  { name: 'lets others overtake it', fate: { overtakenMs: 60 } },
  { name: 'falls silent at it', fate: 'stall' },
];
/** Whether it lets a message come after those that were sent later. */
export const isOvertaking = (fate: Fate): boolean => typeof fate === 'object' && 'overtakenMs' in fate;
const directions: Direction[] = ['from_station', 'to_station'];
/** More messages than any round sends. */
const enough = 14;

export type Round = {
  number: number;
  direction: Direction;
  fate: Fate;
  /** Messages that came to the network so far. */
  messages: { direction: Direction; text: string }[];
  /** From here on the network does not fail. */
  heal(): void;
};

/**
 * The same round again and again: the network fails at its first message, at its second, and so on, until a round has fewer messages; in each
 * direction and each way. A connection that fell silent is found by the pings of a clock that leaps.
 * @param least messages that a round has in any case.
 * @returns rounds, and at how many of them the network failed.
 */
export async function sweep(options: {
  cloud: ReferenceCloud;
  clock: LeapingClock;
  least: Record<Direction, number>;
  /** What comes before each round, over a network that does not fail. */
  prepare?(): Promise<void>;
  round(round: Round): Promise<void>;
}): Promise<{ rounds: number; failures: number }> {
  const { cloud, clock, least } = options;
  let [rounds, failures] = [0, 0];
  for (const direction of directions) {
    for (const { name, fate } of fates) {
      let at = 0;
      for (; at < enough; at += 1) {
        const failed = await play(direction, fate, at).catch((cause: unknown) => {
          throw new Error(`${direction}: the network ${name}, at message ${at}`, { cause });
        });
        if (!failed) break;
        failures += 1;
      }
      assert.ok(at >= least[direction], `${direction}: the network ${name} at only ${at} messages`);
    }
  }
  return { rounds, failures };

  async function play(direction: Direction, fate: Fate, at: number): Promise<boolean> {
    await options.prepare?.();
    let [count, isWell] = [0, false];
    const messages: Round['messages'] = [];
    cloud.options.fate = (way, text) => {
      messages.push({ direction: way, text });
      if (isWell || way !== direction || count++ !== at) return 'pass';
      // Once all is sent that goes out in the same moment.
      const attempts = cloud.attempts.length;
      if (fate === 'stall') setImmediate(() => void leapOverSilence(clock, () => cloud.attempts.length > attempts));
      return fate;
    };
    const heal = (): void => {
      isWell = true;
    };
    await options.round({ number: rounds, direction, fate, messages, heal });
    cloud.options.fate = () => 'pass';
    rounds += 1;
    return count > at;
  }
}
