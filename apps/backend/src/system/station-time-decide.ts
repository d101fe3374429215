/**
 * Is the clock right, and what time is it until then? All times are milliseconds. `timeline` is the time of the station while the clock is not
 * known to be right: it begins after everything that is stored, and runs with the monotonic clock.
 */

/** No station ran this program earlier. */
export const earliestMs = Date.UTC(2026, 0, 1);
/** A smaller difference is drift, which the clock may follow at once. */
export const stepLimitMs = 10_000;
const minuteMs = 60_000;
export const dayMs = 24 * 60 * minuteMs;
/** The stored time may be ahead by this much: NTP corrected the clock right before the end. */
const toleranceMs = 10 * minuteMs;
/** A clock further ahead than this is rather wrong than right after so long without power. */
const longestPauseMs = 400 * dayMs;
/** An agent that is configured may take this long until it first answers. */
export const agentGraceMs = minuteMs;

/** The last time that was stored. */
export type KeptTime = {
  bootId: string;
  /** Since the machine started. */
  uptimeMs: number;
  /** Of the station, and of the wall clock at that moment. */
  atMs: number;
  wallMs: number;
  isTrusted: boolean;
  /** Sum of the jumps that nobody confirmed. */
  followedMs: number;
  /** Time of the station right after the first of them; null: there is none. */
  aheadFromMs: number | null;
  /** What is left of the time in which nothing is deleted because of its age. */
  holdMs: number;
};

export type StartFacts = {
  wallMs: number;
  bootId: string;
  uptimeMs: number;
  kept: KeptTime | null;
  /** Time of the newest row; null: there is none. */
  newestMs: number | null;
};

export type TimeStart = {
  timelineMs: number;
  /** Difference between wall clock and timeline that nobody has caused since it was judged. */
  judgedOffsetMs: number;
  /** Without a word of the agent, the clock must run this long without a jump before something is deleted because of its age. */
  holdMs: number;
  followedMs: number;
  aheadFromMs: number | null;
  /** The clock came back, after a pause of more than a day. */
  isLateReturn: boolean;
};

/** The station's time when the backend starts. */
export function decideStart({ wallMs, bootId, uptimeMs, kept, newestMs }: StartFacts): TimeStart {
  const { followedMs, aheadFromMs } = kept ?? { followedMs: 0, aheadFromMs: null };
  const start = { judgedOffsetMs: 0, followedMs, aheadFromMs, isLateReturn: false };
  if (kept !== null && kept.bootId === bootId && uptimeMs >= kept.uptimeMs) {
    const timelineMs = kept.atMs + uptimeMs - kept.uptimeMs;
    const { holdMs } = kept;
    // Slow drift while the backend did not run; the monotonic clock is no more exact.
    if (kept.isTrusted && Math.abs(wallMs - timelineMs) <= stepLimitMs) {
      return { ...start, timelineMs: wallMs, holdMs };
    }
    return { ...start, timelineMs, judgedOffsetMs: kept.wallMs - kept.atMs, holdMs };
  }
  const known = kept === null && newestMs === null ? null : Math.max(kept?.atMs ?? 0, newestMs ?? 0);
  if (isPlausible(wallMs, known)) {
    if (known === null || wallMs - known <= dayMs) {
      return { ...start, timelineMs: wallMs, holdMs: kept === null || followedMs === 0 ? 0 : kept.holdMs };
    }
    // A pause, or a jump while the machine was off.
    const jump = { followedMs: followedMs + wallMs - known, aheadFromMs: aheadFromMs ?? wallMs };
    return { ...start, ...jump, timelineMs: wallMs, holdMs: dayMs };
  }
  if (known !== null && isReturn(wallMs, known, start)) {
    const isLateReturn = wallMs - (known - followedMs) > dayMs;
    return { ...start, timelineMs: wallMs + followedMs, holdMs: dayMs, isLateReturn };
  }
  const timelineMs = Math.max((known ?? 0) + 1, earliestMs);
  return { ...start, timelineMs, judgedOffsetMs: wallMs - timelineMs, holdMs: dayMs };
}

/** Whether the clock is back where it was before the jumps, or after a pause since then: nearer to that than to the time of the station. */
function isReturn(wallMs: number, known: number, jump: Pick<KeptTime, 'followedMs' | 'aheadFromMs'>): boolean {
  const { followedMs, aheadFromMs } = jump;
  if (aheadFromMs === null || known - aheadFromMs > longestPauseMs) return false;
  const pauseMs = wallMs - (known - followedMs);
  return pauseMs >= -stepLimitMs && pauseMs <= longestPauseMs && pauseMs < known - wallMs;
}

/** Whether a step takes back the jumps that nobody confirmed. */
export const isTakenBack = (stepMs: number, followedMs: number): boolean =>
  followedMs !== 0 && Math.abs(stepMs + followedMs) <= toleranceMs;

const isPlausible = (wallMs: number, known: number | null): boolean =>
  wallMs >= earliestMs && (known === null || (wallMs >= known - toleranceMs && wallMs <= known + longestPauseMs));

/** What the agent says about the clock of the machine; `unknown`: there is none, it does not answer, or it is too old to know. */
export type ClockWord = 'right' | 'wrong' | 'unknown';

export type TimeFacts = {
  word: ClockWord;
  wallMs: number;
  timelineMs: number;
  judgedOffsetMs: number;
  /** Sum of the jumps that nobody confirmed. */
  followedMs: number;
  isLateReturn: boolean;
  /** Time since the last jump, or since the start. */
  steadyMs: number;
  holdMs: number;
};

export type TimeStep =
  /** The clock is right; the station's time changes by `stepMs`. */
  | { kind: 'trust'; stepMs: number }
  /** Somebody set the clock, but nobody says that it is right: people see its time, and nothing is deleted for `holdMs`. */
  | { kind: 'follow'; stepMs: number; holdMs: number }
  | { kind: 'wait' };

const wait: TimeStep = { kind: 'wait' };

/** What happens while the clock is not known to be right. */
export function decideTime(facts: TimeFacts): TimeStep {
  const { word, wallMs, timelineMs, judgedOffsetMs, followedMs, isLateReturn, steadyMs, holdMs } = facts;
  const stepMs = wallMs - timelineMs;
  if (word === 'right') return { kind: 'trust', stepMs };
  if (word === 'wrong') return wait;
  // A clock never jumps by itself: NTP or a person set it.
  const wasSet = Math.abs(stepMs - judgedOffsetMs) > stepLimitMs;
  if (wasSet && wallMs >= earliestMs) {
    if (isTakenBack(stepMs, followedMs)) {
      return isLateReturn ? { kind: 'follow', stepMs, holdMs: dayMs } : { kind: 'trust', stepMs };
    }
    // Before what is stored, the clock is rather wrong; and its rows would be among those of that time.
    if (wallMs < timelineMs - followedMs - dayMs) return wait;
    return Math.abs(stepMs) > dayMs ? { kind: 'follow', stepMs, holdMs: dayMs } : { kind: 'trust', stepMs };
  }
  if (Math.abs(stepMs) > stepLimitMs) return wait;
  return steadyMs >= holdMs ? { kind: 'trust', stepMs } : wait;
}

/** Rows from `fromMs` to `toMs` were written while the clock was not known to be right. */
export type UnsurePeriod = { id: string; fromMs: number; toMs: number };

/**
 * Steps of the periods of earlier boots, whose clocks nobody measured. They happened before this boot began. A period that ends before
 * that stays where it is, right after what was stored before it; a later one is moved so that it ends there.
 * @param beganMs the true time at which this boot began.
 * @param periods oldest first.
 */
export function decideEarlierSteps(beganMs: number, periods: readonly UnsurePeriod[]): Map<string, number> {
  const steps = new Map<string, number>();
  let latestMs = beganMs;
  for (const { id, fromMs, toMs } of periods.toReversed()) {
    const stepMs = Math.min(0, latestMs - toMs);
    steps.set(id, stepMs);
    latestMs = fromMs + stepMs;
  }
  return steps;
}
