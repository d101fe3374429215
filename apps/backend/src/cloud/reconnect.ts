import { createBackoff } from '@station/kit/retry';

/** Why a connection is to be made anew. */
export type LossKind =
  /** The other side ended it, in words or not: all its stations lost it at the same moment. */
  | 'ended_by_cloud'
  /** It could not be made, or was found dead. */
  | 'not_reached'
  /** The cloud does not accept the token. */
  | 'rejected';

export type Reconnect = {
  /** Milliseconds to wait before the next attempt. */
  nextMs(kind: LossKind): number;
  /** The link has been good for long enough: the next loss starts from the shortest wait. */
  stable(): void;
  /** The token was accepted: that the cloud was away is over. */
  accepted(): void;
};

/** Specification, "Limits". */
const usual = { initialMs: 2_000, maxMs: 60_000, jitter: 0.2 };
/** Contracts, section 12: at most a dozen attempts an hour. */
const slowLane = { initialMs: 300_000, maxMs: 3_600_000, jitter: 0.2 };
/** So that ten thousand stations do not come back in the two seconds after a cloud is started again. */
export const spreadMs = 30_000;
/** Longer, so that those who come a second time do not double those who come the first time (`npm run bench -- fleet`). */
const retrySpreadMs = 45_000;

/** How long to wait before each attempt. @param random uniform in [0, 1). */
export function createReconnect(random: () => number): Reconnect {
  const fast = createBackoff({ ...usual, random });
  const slow = createBackoff({ ...slowLane, random });
  /**
   * Of a loss that all stations had at once. Until it is over every wait is spread: a cloud that takes half a minute to start would else meet
   * those who tried after 2, 4 and 8 seconds all in its first moments.
   */
  let isShared = false;
  return {
    nextMs: (kind) => {
      switch (kind) {
        case 'rejected':
          return slow.nextMs();
        case 'ended_by_cloud':
          isShared = true;
          return fast.nextMs() + Math.round(random() * spreadMs);
        case 'not_reached':
          return fast.nextMs() + (isShared ? Math.round(random() * retrySpreadMs) : 0);
      }
    },
    stable: () => {
      fast.reset();
      slow.reset();
    },
    accepted: () => {
      isShared = false;
    },
  };
}
