/** How often `beat` must be called. */
export const beatMs = 400;
/** Beats without an answer until the station counts as silent: within 2 s of its last message. */
const silentBeats = 3;
/** Until the connection is given up: one that died silently (a phone changed networks) never fires `close`. */
const deadBeats = 15;
/** A page that nobody sees asks rarely. */
const hiddenPingBeats = 25;

export type Heartbeat = {
  /** A message came. */
  heard(): void;
  /** Call every `beatMs`. Time in which the page itself did not run does not count against the station. */
  beat(): 'fine' | 'silent' | 'dead';
};

/** Notices a station that stopped to answer. @param ping sends a message that a station answers at once. */
export function createHeartbeat({ ping, isHidden }: { ping: () => void; isHidden: () => boolean }): Heartbeat {
  let quiet = 0;
  /** Beats since an unanswered ping; null: none is unanswered. */
  let waited: number | null = null;
  return {
    heard: () => {
      quiet = 0;
      waited = null;
    },
    beat: () => {
      quiet += 1;
      if (waited !== null) waited += 1;
      else if (quiet >= (isHidden() ? hiddenPingBeats : 1)) {
        waited = 0;
        ping();
      }
      if (waited === null || waited < silentBeats) return 'fine';
      return waited < deadBeats ? 'silent' : 'dead';
    },
  };
}
