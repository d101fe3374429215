/**
 * Finds the message that makes the cloud end the link each time it gets it, so that it does not hold up all others for ever. A cloud that ends
 * the link at others too is sick: then it is no message's fault.
 */
export type PoisonWatch = {
  /** How many may be sent ahead: one alone while one is suspected. */
  window(usual: number): number;
  /** One is suspected. Until it has arrived it has the link to itself: what else is sent may be what the cloud chokes on. */
  isSuspecting(): boolean;
  /** It is not to be sent now: another one is tried in its place, one behind those that were tried before. */
  held(): { seq: number; triedUpTo: number } | null;
  /** Nothing but what is held waits: there is nothing to try. */
  nothingElse(): void;
  /** The cloud took something. */
  took(): void;
  /** There is nothing left that it could choke on. */
  drained(): void;
  /** @param code of the cloud's closing frame. @param oldest not acknowledged. @returns the number to set aside, or null. */
  lost(code: number | null, oldest: number | null): number | null;
};

/**
 * Codes that speak of what was sent (RFC 6455, section 7.4.1): protocol error, unacceptable data, bad encoding, policy, too big, server error. A
 * link that just breaks says nothing about it.
 */
const speakingCodes: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009, 1011]);
const maxLosses = 5;

type Suspect = { seq: number; losses: number; triedUpTo: number; stage: 'counted' | 'held' | 'last_chance' };

export function createPoisonWatch(): PoisonWatch {
  let suspect: Suspect | null = null;
  /** Since one was condemned that there was nothing to compare with. A cloud that is sick gets no second one set aside in this way. */
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
      if (code === null || !speakingCodes.has(code) || oldest === null) return null;
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
