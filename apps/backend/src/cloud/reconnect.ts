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
  /** The token was accepted. */
  accepted(): void;
};

/** Specification, "Limits". */
const usual = { initialMs: 2_000, maxMs: 60_000, jitter: 0.2 };
/** Contracts, section 12: at most a dozen attempts an hour. */
const slowLane = { initialMs: 300_000, maxMs: 3_600_000, jitter: 0.2 };
/** So that ten thousand stations do not come back in the two seconds after a cloud is started again. */
export const spreadMs = 30_000;

/** How long to wait before each attempt. @param random uniform in [0, 1). */
export function createReconnect(random: () => number): Reconnect {
  const fast = createBackoff({ ...usual, random });
  const slow = createBackoff({ ...slowLane, random });
  return {
    nextMs: (kind) => {
      switch (kind) {
        case 'rejected':
          return slow.nextMs();
        case 'not_reached':
          return fast.nextMs();
        case 'ended_by_cloud':
          return fast.nextMs() + Math.round(random() * spreadMs);
      }
    },
    stable: fast.reset,
    accepted: slow.reset,
  };
}
