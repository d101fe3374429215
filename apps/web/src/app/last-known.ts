/** Where the browser keeps what home showed last (`offline.ts`). */
export const lastKnownCache = 'station-last-known';

/** Nothing of a person stays in the browser after the log-out. */
export async function forgetLastKnown(): Promise<void> {
  // Absent over HTTP.
  if ('caches' in globalThis) await caches.delete(lastKnownCache).catch(() => false);
}
