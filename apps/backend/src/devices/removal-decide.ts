import type { RemovalEnd } from '../store/schema.ts';

/** What is known of a removed device that keeps its login. Times are milliseconds since the epoch. */
export type RemovalFacts = {
  now: number;
  /** Whether `now` is known to be right. */
  isNowTrue: boolean;
  loginUntil: number;
  answers: number;
  answeredAt: number | null;
};

/** Devices in the field erase themselves after this number of `unknown_device` answers (contracts, section 8). */
export const answersUntilErased = 3;
/** Time for the last answer to reach the device before its connection ends. */
export const graceMs = 60_000;

/** Why the login of a removed device ends now; null: it stays. */
export function decideLoginEnd({ now, isNowTrue, loginUntil, answers, answeredAt }: RemovalFacts): RemovalEnd | null {
  if (answeredAt !== null && answers >= answersUntilErased && now - answeredAt >= graceMs) return 'unknown_device';
  return isNowTrue && now >= loginUntil ? 'expired' : null;
}
