/** Longest wait that a server may ask for, milliseconds. */
const longestMs = 24 * 3600_000;

/**
 * The wait that a server asks for, in milliseconds; null when it asks for none (RFC 9110, section 10.2.3: seconds or a date, which has three
 * forms and is always in GMT).
 * @param nowMs wall clock, for a date.
 */
export function readRetryAfter(header: string | string[] | undefined, nowMs: number): number | null {
  const text = [header].flat()[0]?.trim() ?? '';
  if (/^\d+$/.test(text)) return Math.min(Number(text) * 1000, longestMs);
  const atMs = /^[A-Z][a-z]{2,8},? /.test(text) ? Date.parse(text.replace(/( GMT)?$/, ' GMT')) : NaN;
  return Number.isNaN(atMs) ? null : Math.min(Math.max(0, atMs - nowMs), longestMs);
}
