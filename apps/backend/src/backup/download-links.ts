import type { Clock } from '@station/kit/clock';
import { newToken } from '../core/secrets.ts';

/**
 * Addresses for downloads: a browser that downloads a file sends no token of its own. Each works once, for a minute, and only the owner
 * gets one. The file itself is encrypted.
 */
export type DownloadLinks = {
  make(backupId: string): { token: string; expiresAt: number };
  /** Null: unknown, used or expired. */
  take(token: string): string | null;
};

const validMs = 60_000;
const maxLinks = 100;

export function createDownloadLinks(clock: Pick<Clock, 'now' | 'monotonic'>): DownloadLinks {
  const links = new Map<string, { backupId: string; until: number }>();
  return {
    make: (backupId) => {
      for (const [token, { until }] of links)
        if (until < clock.monotonic() || links.size >= maxLinks) links.delete(token);
      const token = newToken();
      links.set(token, { backupId, until: clock.monotonic() + validMs });
      return { token, expiresAt: clock.now() + validMs };
    },
    take: (token) => {
      const link = links.get(token);
      links.delete(token);
      return link === undefined || link.until < clock.monotonic() ? null : link.backupId;
    },
  };
}
