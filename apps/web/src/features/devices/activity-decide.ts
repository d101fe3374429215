/** Entries of a list, newest first, by the day on which they happened where the reader is. */
export function byDay<Entry extends { at: string }>(
  entries: readonly Entry[],
): { key: string; at: number; entries: readonly Entry[] }[] {
  const days: { key: string; at: number; entries: Entry[] }[] = [];
  for (const entry of entries) {
    const at = Date.parse(entry.at);
    const midnight = new Date(at).setHours(0, 0, 0, 0);
    const last = days.at(-1);
    if (last?.at === midnight) last.entries.push(entry);
    // After a corrected clock a day may come twice.
    else days.push({ key: `${midnight} ${days.length}`, at: midnight, entries: [entry] });
  }
  return days;
}

/** Whether a day begins then where the reader is, which is at 1:00 where the clock skips midnight. */
export const isMidnight = (at: number): boolean => new Date(at).setHours(0, 0, 0, 0) === at;

/** "today" and "yesterday" have words of their own. */
export function dayName(midnight: number, now: number): 'today' | 'yesterday' | null {
  const today = new Date(now).setHours(0, 0, 0, 0);
  if (midnight === today) return 'today';
  // Where today begins at 1:00, yesterday did not.
  const before = new Date(today - 1).setHours(0, 0, 0, 0);
  return midnight === before ? 'yesterday' : null;
}
