import type { Clock } from '@station/kit/clock';
import { networkOf, widerNetworksOf } from '../core/client-network.ts';
import { delayLeft, delayRules, failuresAt, type FailureCount } from './login-decide.ts';
import type { LoginMemory } from './login-memory.ts';

/** Whether an attempt is allowed. `retryAfterMs`: time until the next one is. */
type LimiterDecision = { allowed: true } | { allowed: false; retryAfterMs: number };

export type LoginLimiter = {
  /**
   * Counts an attempt as failed before it is made, so that concurrent ones cannot pass the limit.
   * @param account null: it is not known yet, and only networks have a delay.
   */
  attempt(account: string | null, address: string): Promise<LimiterDecision>;
  /**
   * The attempt succeeded: it does not count, and the count of this account at this address is reset.
   * @param userId whose log-in from this network is remembered; null: nobody's.
   */
  succeeded(account: string | null, address: string, userId: string | null): Promise<void>;
};

const maxKeys = 20_000;

/**
 * Delays log-in attempts by account and address (contracts, section 9), equally for accounts that do not exist. IPv6 addresses of one /64
 * count as one. A network from which an account was logged in to before does not wait for what others do to this account. Counts with a
 * delay are kept over a restart; a change of the wall clock has no effect while it runs.
 */
export function createLoginLimiter({ clock, memory }: { clock: Clock; memory: LoginMemory }): LoginLimiter {
  const counts = new Map<string, FailureCount>();
  let reading: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    const [now, wall] = [clock.monotonic(), clock.now()];
    for (const { key, failures, at } of await memory.read()) {
      if (!counts.has(key)) counts.set(key, { failures, at: now - Math.max(0, wall - at) });
    }
  };
  const countOf = (key: string, now: number): FailureCount => {
    const count = counts.get(key) ?? { failures: 0, at: now };
    return { failures: failuresAt(count, now), at: count.at };
  };
  const set = (key: string, count: FailureCount | null): void => {
    counts.delete(key);
    if (count === null) return;
    counts.set(key, count);
    const oldest = counts.keys().next();
    if (counts.size > maxKeys && !oldest.done) counts.delete(oldest.value);
  };
  /** @returns the longest delay of these keys. Counts the attempt at each of them when there is none. */
  const count = async (keys: readonly Key[]): Promise<number> => {
    const now = clock.monotonic();
    const delayMs = Math.max(...keys.map(({ key, kind }) => delayLeft(counts.get(key) ?? none, delayRules[kind], now)));
    if (delayMs > 0) return delayMs;
    const kept = keys.filter(({ key, kind }) => {
      const failures = countOf(key, now).failures + 1;
      set(key, { failures, at: now });
      return Math.round(failures) >= delayRules[kind].free;
    });
    const at = clock.now();
    await memory.keep(kept.map(({ key }) => ({ key, failures: counts.get(key)?.failures ?? 0, at })));
    return 0;
  };

  return {
    attempt: async (account, address) => {
      await (reading ??= read());
      const keys = keysOf(account, address);
      const delayMs = await count(keys);
      if (delayMs === 0) return { allowed: true };
      const own = keys.filter(({ kind }) => kind !== 'account');
      const isKnown = account !== null && (await memory.isKnown(account, networkOf(address)));
      const ownDelayMs = isKnown ? await count(own) : delayMs;
      return ownDelayMs === 0 ? { allowed: true } : { allowed: false, retryAfterMs: ownDelayMs };
    },
    succeeded: async (account, address, userId) => {
      const now = clock.monotonic();
      const keys = keysOf(account, address);
      for (const { key, kind } of keys) {
        const { failures, at } = countOf(key, now);
        set(key, kind === 'pair' || failures <= 1 ? null : { failures: failures - 1, at });
      }
      await memory.forget(keys.flatMap(({ key, kind }) => (kind === 'pair' ? [key] : [])));
      if (userId !== null) await memory.remember(userId, networkOf(address), clock.now());
    },
  };
}

const none: FailureCount = { failures: 0, at: 0 };

type Kind = keyof typeof delayRules;
type Key = { kind: Kind; key: string };

function keysOf(account: string | null, address: string): Key[] {
  const network = networkOf(address);
  const wider = widerNetworksOf(address);
  const keys: Partial<Record<Kind, string>> = {
    ...(account !== null && { pair: `pair ${network} ${account}` }),
    address: `address ${network}`,
    ...(wider && { subnet: `subnet ${wider.subnet}`, site: `site ${wider.site}` }),
    ...(account !== null && { account: `account ${account}` }),
  };
  return (Object.entries(keys) as [Kind, string][]).map(([kind, key]) => ({ kind, key }));
}
