/** Who set the clock since the machine started, and how far it is ahead of the time since then: a jump shows in it. */
export type ClockTrust = {
  bootId: string;
  source: 'ntp' | 'person';
  /** Wall clock minus uptime, milliseconds. */
  offsetMs: number;
};

export type ClockFacts = {
  bootId: string;
  offsetMs: number;
  /** As the system says now; null: it does not tell. */
  isNtpSynchronized: boolean | null;
  kept: ClockTrust | null;
};

/** More than a clock drifts between two looks. */
export const jumpMs = 60_000;

/**
 * Whether the clock is right. NTP that was lost, or a person's word, stays good until the machine restarts or the clock jumps: a clock that
 * was right only drifts. Null: nobody says that it is right.
 */
export function decideClock({ bootId, offsetMs, isNtpSynchronized, kept }: ClockFacts): ClockTrust | null {
  if (isNtpSynchronized === true) return { bootId, source: 'ntp', offsetMs };
  const isKept = kept !== null && kept.bootId === bootId && Math.abs(offsetMs - kept.offsetMs) <= jumpMs;
  return isKept ? { ...kept, offsetMs } : null;
}

/** This software is not older, and hardly runs longer: a time outside is a mistake, or should make certificates and sessions end. */
const earliestMs = Date.UTC(2026, 0, 1);
const latestMs = Date.UTC(2056, 0, 1);

export const isReasonableTime = (now: number): boolean => now >= earliestMs && now < latestMs;
