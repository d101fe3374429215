import { after } from '@station/kit/timers';
import { charge, leastMessageBytes, readingRate } from './rates-decide.ts';

export type FairReading = {
  /**
   * Calls `work` now, or later if the sender is over its rate; messages of one sender keep their order. Meanwhile the broker reads nothing
   * more of its connection, so the sender waits, and nobody else.
   */
  whenDue(sender: string, bytes: number, work: () => void): void;
} & Disposable;

type Message = { bytes: number; work: () => void };
type Sender = {
  paidAtMs: number;
  /** In order of arrival; the first is paid for when the timer ends. */
  waiting: Message[];
  timer: Disposable | null;
};

/** A sender that has its whole burst again needs not be remembered. */
const forgetEveryMs = 60_000;

/**
 * Slows down devices that send more than anybody can store. Disposed, it calls nothing any more: unanswered messages are sent again.
 * @param now milliseconds of a monotonic clock.
 */
export function createFairReading(now: () => number): FairReading {
  const senders = new Map<string, Sender>();
  let forgottenAtMs = now();
  const pay = (sender: Sender, { bytes }: Message): number => {
    const charged = charge(readingRate, sender.paidAtMs, Math.max(bytes, leastMessageBytes), now());
    sender.paidAtMs = charged.paidAtMs;
    return charged.earlyMs;
  };
  /** The first of the waiting messages is due. */
  const goOn = (sender: Sender): void => {
    sender.timer = null;
    for (;;) {
      sender.waiting.shift()?.work();
      const [next] = sender.waiting;
      if (next === undefined) return;
      const earlyMs = pay(sender, next);
      if (earlyMs > 0) {
        sender.timer = after(earlyMs, () => goOn(sender));
        return;
      }
    }
  };
  const forgetQuiet = (nowMs: number): void => {
    if (nowMs - forgottenAtMs < forgetEveryMs) return;
    forgottenAtMs = nowMs;
    for (const [name, { paidAtMs, timer }] of senders) if (paidAtMs < nowMs && timer === null) senders.delete(name);
  };
  return {
    whenDue: (name, bytes, work) => {
      forgetQuiet(now());
      let sender = senders.get(name);
      if (sender === undefined) senders.set(name, (sender = { paidAtMs: 0, waiting: [], timer: null }));
      const message = { bytes, work };
      if (sender.timer !== null) {
        sender.waiting.push(message);
        return;
      }
      const earlyMs = pay(sender, message);
      if (earlyMs === 0) return work();
      sender.waiting.push(message);
      sender.timer = after(earlyMs, () => goOn(sender));
    },
    [Symbol.dispose]: () => {
      for (const { timer } of senders.values()) timer?.[Symbol.dispose]();
      senders.clear();
    },
  };
}
