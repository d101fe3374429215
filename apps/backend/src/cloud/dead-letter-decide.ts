/**
 * Finds the message at which the cloud ends the link each time, so that it does not block all others for ever. A cloud that ends the link at
 * others too has a fault of its own: then no message becomes a dead letter.
 */
export type DeadLetterWatch = {
  /** How many messages may be in flight: one while a message is suspected. */
  window(usual: number): number;
  /** A message is suspected. Until it has arrived it has the link to itself, so that nothing else can be the cause. */
  isSuspecting(): boolean;
  /** The suspect is not sent now: another message is tried in its place, one behind those that were tried before. */
  held(): { seq: number; triedUpTo: number } | null;
  /** Nothing but the held message waits: there is nothing to try. */
  nothingElse(): void;
  /** The cloud acknowledged something. */
  took(): void;
  /** Nothing waits any more. */
  drained(): void;
  /** @param code of the cloud's closing frame. @param oldest not acknowledged. @returns the number of the dead letter, or null. */
  lost(code: number | null, oldest: number | null): number | null;
};

/**
 * Close codes that blame what was sent (RFC 6455, section 7.4.1): protocol error, unacceptable data, bad encoding, policy, too big, server error.
 * A link that just breaks blames nothing.
 */
const blamingCodes: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009, 1011]);
const maxLosses = 5;

type Suspect = { seq: number; losses: number; triedUpTo: number; stage: 'counted' | 'held' | 'last_chance' };

export function createDeadLetterWatch(): DeadLetterWatch {
  let suspect: Suspect | null = null;
  /** Since the last dead letter without another message to compare with. A cloud with a fault of its own gets no second one in this way. */
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
        // The next time another one is tried: this one may be as bad.
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
