import { createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '@station/kit/clock';

/** What a challenge is for: it is good for nothing else. */
export type Purpose =
  | { kind: 'log_in'; host: string }
  | { kind: 'add'; host: string; userId: string; password: string };

export type PasskeyChallenges = {
  issue(purpose: Purpose): string;
  /** Whether it was issued for this, and not long ago. It does not know which ones were answered already. */
  accepts(challenge: string, purpose: Purpose): boolean;
};

/** How long a challenge can be answered. */
export const challengeLifetimeMs = 5 * 60_000;
/** Replicas have clocks of their own. */
const toleranceMs = 5_000;

const timeBytes = 8;
const randomPart = 16;
const macBytes = 32;

/**
 * Challenges that need no memory: time, random bytes, and a signature over them and the purpose. So requests without a log-in store
 * nothing at the station, and each replica knows those of the others (docs/adr/0051).
 */
export function createPasskeyChallenges({ key, clock }: { key: Buffer; clock: Clock }): PasskeyChallenges {
  const macOf = (signed: Buffer, purpose: Purpose): Buffer => {
    const context = purpose.kind === 'log_in' ? [purpose.host] : [purpose.host, purpose.userId, purpose.password];
    return createHmac('sha256', key)
      .update(signed)
      .update(JSON.stringify([purpose.kind, ...context]))
      .digest();
  };
  return {
    issue: (purpose) => {
      const time = Buffer.alloc(timeBytes);
      time.writeDoubleBE(clock.now());
      const signed = Buffer.concat([time, randomBytes(randomPart)]);
      return Buffer.concat([signed, macOf(signed, purpose)]).toString('base64url');
    },
    accepts: (challenge, purpose) => {
      const bytes = Buffer.from(challenge, 'base64url');
      // The text is what is remembered as used, so it must have one form.
      if (bytes.length !== timeBytes + randomPart + macBytes || bytes.toString('base64url') !== challenge) return false;
      const signed = bytes.subarray(0, timeBytes + randomPart);
      if (!timingSafeEqual(bytes.subarray(signed.length), macOf(signed, purpose))) return false;
      const age = clock.now() - signed.readDoubleBE(0);
      return age >= -toleranceMs && age < challengeLifetimeMs;
    },
  };
}

/** Key for `createPasskeyChallenges`, from the one of the sessions: the same at every backend that shares the secret. */
export const challengeKeyOf = (refreshKey: Buffer): Buffer =>
  Buffer.from(hkdfSync('sha256', refreshKey, '', 'station passkey challenges', 32));
