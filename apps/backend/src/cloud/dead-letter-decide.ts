/**
 * Finds the message at which the cloud ends the link each time, so that it does not block all others. A cloud that ends the link at other
 * messages too is itself faulty: then no message becomes a dead letter.
 */
export type DeadLetterWatch = {
  /** How many messages may be in flight: one while a message is suspected. */
  window(usual: number): number;
  /** A message is suspected. It is sent alone until it arrives, so that no other message can be the cause. */
  isSuspecting(): boolean;
  /** The suspect is held: another message is tried instead, the one after those tried before. */
  held(): { seq: number; triedUpTo: number } | null;
  /** Only the held message waits: there is nothing to try. */
  nothingElse(): void;
  /** The cloud acknowledged something. */
  took(): void;
  /** The outbox is empty. */
  drained(): void;
  /** @param code of the cloud's closing frame. @param oldest number of the oldest unacknowledged message. @returns the dead letter's number or null. */
  lost(code: number | null, oldest: number | null): number | null;
};

/**
 * Close codes that point to the sent data (RFC 6455, section 7.4.1): protocol error, unacceptable data, bad encoding, policy, too big,
 * server error. A broken link does not point to any message.
 */
const blamingCodes: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009, 1011]);
const maxLosses = 5;

type Suspect = { seq: number; losses: number; triedUpTo: number; stage: 'counted' | 'held' | 'last_chance' };

export function createDeadLetterWatch(): DeadLetterWatch {
  let suspect: Suspect | null = null;
  /** A dead letter was made without a message to compare. A faulty cloud must not cause a second one this way. */
  let hasTaken = true;
  return {
    window: (usual) => (suspect === null ? usual : 1),
    isSuspecting: () => suspect !== null,
    held: () => (suspect?.stage === 'held' ? { seq: suspect.seq, triedUpTo: suspect.triedUpTo } : null),
    nothingElse: () => {
      if (suspect?.stage !== 'held') return;
      suspect = hasTaken ? { ...suspect, stage: 'last_chance' } : { ...suspect, losses: 0, stage: 'counted' };
      hasTaken = false;
    },
    took: () => {
      hasTaken = true;
      suspect = suspect?.stage === 'held' ? { ...suspect, stage: 'last_chance' } : null;
    },
    drained: () => {
      suspect = null;
    },
    lost: (code, oldest) => {
      if (code === null || !blamingCodes.has(code) || oldest === null) return null;
      if (suspect?.stage === 'held') {
        // The next attempt uses another message: this one may also be bad.
        suspect = { ...suspect, losses: 0, triedUpTo: oldest, stage: 'counted' };
        return null;
      }
      if (suspect?.seq !== oldest) suspect = { seq: oldest, losses: 0, triedUpTo: 0, stage: 'counted' };
      if (suspect.stage === 'last_chance') {
        suspect = null;
        return oldest;
      }
      suspect.losses += 1;
      if (suspect.losses === maxLosses) suspect.stage = 'held';
      return null;
    },
  };
}
