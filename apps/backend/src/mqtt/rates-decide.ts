/** Bytes a second in the long run, and how many bytes may come at once. */
export type Rate = { bytesPerSecond: number; burstBytes: number };

const kibibyte = 1024;

/**
 * What the history of one device takes, as stored. Ten messages a second of 4 KiB stay below it. The burst is what a broker keeps while the
 * backend is offline.
 */
export const historyRate: Rate = { bytesPerSecond: 64 * kibibyte, burstBytes: 16 * kibibyte * kibibyte };

/** What the embedded broker reads of one device, so that others need not wait for it. */
export const readingRate: Rate = { bytesPerSecond: 128 * kibibyte, burstBytes: kibibyte * kibibyte };

/** A small message costs more time than its bytes. */
export const leastMessageBytes = 64;

/**
 * The generic cell rate algorithm (ITU-T I.371): one number for each sender, the time at which all that it sent is paid for.
 * @param paidAtMs that time so far; 0 for a new sender. Both times are of a monotonic clock.
 * @returns the time after these bytes, and how long they are early, milliseconds: 0 within the rate.
 */
export function charge(
  { bytesPerSecond, burstBytes }: Rate,
  paidAtMs: number,
  bytes: number,
  nowMs: number,
): { paidAtMs: number; earlyMs: number } {
  const perMs = bytesPerSecond / 1_000;
  const after = Math.max(paidAtMs, nowMs) + bytes / perMs;
  return { paidAtMs: after, earlyMs: Math.max(0, after - burstBytes / perMs - nowMs) };
}
