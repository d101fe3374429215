import type { ActivityEventData, ActivityEventKind } from '@station/protocol/activity';

type Options = {
  /** Who did it, or whom it concerns; left out: nobody. */
  userId?: string;
  /** An event with the same key is kept once. */
  once?: string;
  /** Milliseconds since the epoch; left out: now. */
  at?: number;
};

/** What happens to the station and its people, for the activity. */
export type StationEvents = {
  /** Returns at once: that an event cannot be kept stops nothing else. */
  note<K extends ActivityEventKind>(kind: K, data: ActivityEventData<K>, options?: Options): void;
};
