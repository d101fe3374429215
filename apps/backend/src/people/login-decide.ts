/** Failed log-ins of one key. `at`: when the last one was counted, milliseconds of a clock that only goes forward. */
export type FailureCount = { failures: number; at: number };

/** @param free failures without a delay. */
type DelayRule = { free: number };

/**
 * Delays grow, and nobody is locked out: few free failures for one account at one address; more for an address, because a household may
 * share it, and for the larger networks of one subscriber, who could take another /64 for each attempt. The delay of an account holds only
 * in networks that it has not logged in from before. A browser that has logged in to the account before has its own failures only.
 */
export const delayRules = {
  device: { free: 10 },
  pair: { free: 5 },
  address: { free: 30 },
  subnet: { free: 40 },
  site: { free: 50 },
  account: { free: 60 },
  newcomer: { free: 100 },
} as const satisfies Record<string, DelayRule>;

/** Failures of an account in one network below which the network counts as a newcomer: a mistyped password is one. */
const newcomerFailures = 3;

/** @param pair the failures of this account in this network, those that are forgotten left out. */
export const accountRule = (pair: number): DelayRule =>
  Math.round(pair) < newcomerFailures ? delayRules.newcomer : delayRules.account;

const firstDelayMs = 30_000;
/** The longest delay, and the time in which one failure is forgotten: someone who keeps guessing keeps it. */
const longestDelayMs = 15 * 60_000;

/** The failures that are not forgotten yet; a fraction while the next one is. */
export function failuresAt({ failures, at }: FailureCount, now: number): number {
  return Math.max(0, failures - Math.max(0, now - at) / longestDelayMs);
}

/** @returns milliseconds until the next attempt may be made; 0: now. */
export function delayLeft(count: FailureCount, { free }: DelayRule, now: number): number {
  // A failure is forgotten little by little; the half counts.
  const over = Math.round(count.failures) - free;
  if (over < 0) return 0;
  const delayMs = Math.min(longestDelayMs, firstDelayMs * 2 ** over);
  return Math.max(0, count.at + delayMs - now);
}
