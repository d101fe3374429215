import type { Clock } from '@station/kit/clock';
import { networkOf } from '../core/client-network.ts';

/** Whether an attempt is allowed. `retryAfterMs`: time until the next one is. */
type LimiterDecision = { allowed: true } | { allowed: false; retryAfterMs: number };

export type LoginLimiter = {
  /** Counts an attempt as failed before it is made, so that concurrent ones cannot pass the limit. */
  attempt(account: string, address: string): LimiterDecision;
  /** The attempt succeeded: it does not count, and the count of this account at this address is reset. */
  succeeded(account: string, address: string): void;
};

const windowMs = 15 * 60 * 1000;
/**
 * Failures within the window. Few for one account at one address; more for an address, because a household may share it; most for an
 * account, so that a stranger elsewhere cannot easily lock its owner out.
 */
const limits = { pair: 5, address: 30, account: 60 } as const;
const maxKeys = 20_000;

/**
 * Limits log-in attempts by account and address (contracts, section 9), in memory, equally for accounts that do not exist. IPv6 addresses of
 * one /64 count as one. A change of the wall clock has no effect.
 */
export function createLoginLimiter(clock: Pick<Clock, 'monotonic'>): LoginLimiter {
  const failures = new Map<string, number[]>();

  const recent = (key: string, now: number): number[] => (failures.get(key) ?? []).filter((at) => at > now - windowMs);

  const keep = (key: string, times: number[]): void => {
    failures.delete(key);
    if (times.length === 0) return;
    failures.set(key, times);
    const oldest = failures.keys().next();
    if (failures.size > maxKeys && !oldest.done) failures.delete(oldest.value);
  };

  return {
    attempt: (account, address) => {
      const now = clock.monotonic();
      const counted = keysOf(account, address).map(({ key, limit }) => ({ key, limit, times: recent(key, now) }));
      const waits = counted
        .filter(({ times, limit }) => times.length >= limit)
        .map(({ times, limit }) => times[times.length - limit]! + windowMs - now);
      if (waits.length > 0) return { allowed: false, retryAfterMs: Math.max(...waits) };
      for (const { key, times } of counted) keep(key, [...times, now]);
      return { allowed: true };
    },
    succeeded: (account, address) => {
      const now = clock.monotonic();
      for (const { key, kind } of keysOf(account, address)) {
        keep(key, kind === 'pair' ? [] : recent(key, now).slice(0, -1));
      }
    },
  };
}

type Kind = keyof typeof limits;

function keysOf(account: string, address: string): { kind: Kind; key: string; limit: number }[] {
  const network = networkOf(address);
  const keys: Record<Kind, string> = {
    pair: `pair ${network} ${account}`,
    address: `address ${network}`,
    account: `account ${account}`,
  };
  return (Object.keys(keys) as Kind[]).map((kind) => ({ kind, key: keys[kind], limit: limits[kind] }));
}
