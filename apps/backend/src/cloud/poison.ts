/** Finds the message that makes the cloud end the link each time it gets it, so that it does not hold up all others for ever. */
export type PoisonWatch = {
  /** How many may be sent ahead: one alone while one is suspected. */
  window(usual: number): number;
  /** One is suspected. Until it has arrived it has the link to itself: what else is sent may be what the cloud chokes on. */
  isSuspecting(): boolean;
  /** The cloud took something, or there is nothing left that it could choke on. */
  progressed(): void;
  /** @param code of the cloud's closing frame. @param oldest not acknowledged. @returns the number to set aside, or null. */
  lost(code: number | null, oldest: number | null): number | null;
};

/**
 * Codes that speak of what was sent (RFC 6455, section 7.4.1): protocol error, unacceptable data, bad encoding, policy, too big, server error. A
 * link that just breaks says nothing about it.
 */
const speakingCodes: ReadonlySet<number> = new Set([1002, 1003, 1007, 1008, 1009, 1011]);
const maxLosses = 5;

export function createPoisonWatch(): PoisonWatch {
  let suspect: number | null = null;
  let losses = 0;
  return {
    window: (usual) => (suspect === null ? usual : 1),
    isSuspecting: () => suspect !== null,
    progressed: () => {
      suspect = null;
      losses = 0;
    },
    lost: (code, oldest) => {
      if (code === null || !speakingCodes.has(code) || oldest === null) return null;
      losses = suspect === oldest ? losses + 1 : 1;
      suspect = oldest;
      if (losses < maxLosses) return null;
      suspect = null;
      losses = 0;
      return oldest;
    },
  };
}
