/**
 * The station's clock, estimated in the browser: a phone's clock may be minutes off, and "3 s ago" must still be correct.
 * `Date` headers have whole seconds, socket messages have milliseconds; the finer one wins once it was seen.
 */
export type StationClock = {
  /** Epoch milliseconds on the station. */
  now(): number;
  observeHeader(date: string): void;
  observeMessage(iso: string): void;
};

export function createStationClock(localNow: () => number): StationClock {
  let offsetMs = 0;
  let exact = false;
  return {
    now: () => localNow() + offsetMs,
    observeHeader: (date) => {
      // The header cuts off up to a second: on average half of one.
      const seen = Date.parse(date) + 500 - localNow();
      if (Number.isNaN(seen)) return;
      const jumped = Math.abs(seen - offsetMs) > 2_000;
      if (!exact || jumped) offsetMs = Math.abs(seen) <= 1_000 ? 0 : seen;
      if (jumped) exact = false;
    },
    observeMessage: (iso) => {
      const seen = Date.parse(iso) - localNow();
      if (Number.isNaN(seen)) return;
      offsetMs = seen;
      exact = true;
    },
  };
}
