import { after } from '@station/kit/timers';
import { charge, leastMessageBytes, readingRate } from './rates-decide.ts';

export type FairReading = {
  /**
   * Calls `work` now, or later if the sender is over its rate; messages of one sender keep their order. Meanwhile nothing more of its
   * connection must be read, so that the sender waits, and nobody else.
   * @returns false: later.
   */
  whenDue(sender: string, bytes: number, work: () => void): boolean;
  /** Charges what is handled at once. @returns false: the sender is so far over its rate that its connection has to end. */
  spend(sender: string, bytes: number): boolean;
  /** Whether a sender may connect: it has waited long enough after that. */
  mayConnect(sender: string): boolean;
} & Disposable;

type Message = { bytes: number; work: () => void };
type Sender = {
  paidAtMs: number;
  /** In order of arrival; the first is paid for when the timer ends. */
  waiting: Message[];
  timer: Disposable | null;
};

/** How long a sender would have to wait for what was handled at once. */
const longestDebtMs = 5_000;
/** A sender that has its whole burst again needs not be remembered. */
const forgetEveryMs = 60_000;

/**
 * Slows down devices that send more than anybody can store. Disposed, it calls nothing any more: unanswered messages are sent again.
 * @param now milliseconds of a monotonic clock.
 */
export function createFairReading(now: () => number): FairReading {
  const senders = new Map<string, Sender>();
  let forgottenAtMs = now();
  const spend = (sender: Sender, bytes: number): number => {
    const charged = charge(readingRate, sender.paidAtMs, bytes, now());
    sender.paidAtMs = charged.paidAtMs;
    return charged.earlyMs;
  };
  const pay = (sender: Sender, { bytes }: Message): number => spend(sender, Math.max(bytes, leastMessageBytes));
  const senderOf = (name: string): Sender => {
    const sender = senders.get(name) ?? { paidAtMs: 0, waiting: [], timer: null };
    senders.set(name, sender);
    return sender;
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
      const sender = senderOf(name);
      const message = { bytes, work };
      if (sender.timer !== null) {
        sender.waiting.push(message);
        return false;
      }
      const earlyMs = pay(sender, message);
      if (earlyMs === 0) {
        work();
        return true;
      }
      sender.waiting.push(message);
      sender.timer = after(earlyMs, () => goOn(sender));
      return false;
    },
    spend: (name, bytes) => {
      forgetQuiet(now());
      return spend(senderOf(name), bytes) <= longestDebtMs;
    },
    mayConnect: (name) => charge(readingRate, senders.get(name)?.paidAtMs ?? 0, 0, now()).earlyMs <= longestDebtMs,
    [Symbol.dispose]: () => {
      for (const { timer } of senders.values()) timer?.[Symbol.dispose]();
      senders.clear();
    },
  };
}
