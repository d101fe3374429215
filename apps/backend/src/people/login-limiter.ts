import type { Clock } from '@station/kit/clock';
import { networkOf, widerNetworksOf } from '../core/client-network.ts';
import { hashToken } from '../core/secrets.ts';
import { accountRule, delayLeft, delayRules, failuresAt, type FailureCount } from './login-decide.ts';
import type { LoginMemory } from './login-memory.ts';

/** Whether an attempt is allowed. `retryAfterMs`: time until the next one is. */
type LimiterDecision =
  | { allowed: true; /** Somebody who logged in before, from this browser or network. */ isKnown: boolean }
  | { allowed: false; retryAfterMs: number };

/** Who attempts it. `device`: what the browser got at an earlier log-in; null: nothing. */
export type Attempt = {
  /** null: it is not known yet, and only networks have a delay. */
  account: string | null;
  address: string;
  device: string | null;
};

/** All share one set-up code; its attempts are counted under this name, for each network alone. */
export const setupAccount = '(setup)';

export type LoginLimiter = {
  /** Counts an attempt as failed before it is made, so that concurrent ones cannot pass the limit. */
  attempt(attempt: Attempt): Promise<LimiterDecision>;
  /**
   * The attempt succeeded: it does not count, and the count of this account at this address is reset.
   * @param userId whose log-in from this network is remembered; null: nobody's.
   */
  succeeded(attempt: Attempt, userId: string | null): Promise<void>;
};

const maxKeys = 20_000;

/**
 * Delays log-in attempts by account and address (contracts, section 9), equally for accounts that do not exist. IPv6 addresses of one /64
 * count as one. A network from which an account was logged in to before does not wait for what others do to this account, and a browser that
 * has logged in to it before waits for nobody else. Counts with a delay are kept over a restart; a change of the wall clock has no effect
 * while it runs.
 */
export function createLoginLimiter({ clock, memory }: { clock: Clock; memory: LoginMemory }): LoginLimiter {
  const { counts, countOf, set } = createCounts();
  let reading: Promise<void> | undefined;

  const read = async (): Promise<void> => {
    const now = clock.monotonic();
    const wall = clock.now();
    for (const { key, failures, at } of await memory.read()) {
      if (!counts.has(key)) counts.set(key, { failures, at: now - Math.max(0, wall - at) });
    }
  };
  /** @returns the longest delay of these keys. Counts the attempt at each of them when there is none. */
  const count = async (keys: readonly Key[]): Promise<number> => {
    const now = clock.monotonic();
    const pair = keys.find(({ kind }) => kind === 'pair');
    const forAccount = accountRule(pair === undefined ? 0 : countOf(pair.key, now).failures);
    const delays = keys.map(({ key, kind }) =>
      delayLeft(counts.get(key) ?? none, kind === 'account' ? forAccount : delayRules[kind], now),
    );
    const delayMs = Math.max(...delays);
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

  const keysOf = async ({ account, address, device }: Attempt): Promise<Key[]> => {
    const hash = device === null ? null : hashToken(device);
    if (hash !== null && (await memory.isKnownDevice(account, hash)))
      return [{ kind: 'device', key: `device ${hash}` }];
    return keysOfNetwork(account, address);
  };

  return {
    attempt: async (attempt) => {
      const { account, address } = attempt;
      await (reading ??= read());
      const keys = await keysOf(attempt);
      const delayMs = await count(keys);
      const isDevice = keys.some(({ kind }) => kind === 'device');
      if (isDevice) return decided(delayMs, true);
      const isKnown = account !== null && (await memory.isKnown(account, networkOf(address)));
      if (delayMs === 0 || !isKnown) return decided(delayMs, isKnown);
      return decided(await count(keys.filter(({ kind }) => kind !== 'account')), true);
    },
    succeeded: async (attempt, userId) => {
      const now = clock.monotonic();
      const keys = await keysOf(attempt);
      const isOwn = ({ kind }: Key): boolean => kind === 'pair' || kind === 'device';
      for (const each of keys) {
        const { failures, at } = countOf(each.key, now);
        set(each.key, isOwn(each) || failures <= 1 ? null : { failures: failures - 1, at });
      }
      await memory.forget(keys.filter(isOwn).map(({ key }) => key));
      if (userId !== null) await memory.remember(userId, networkOf(attempt.address), clock.now());
    },
  };
}

/** Failures by key. It forgets the oldest. */
function createCounts() {
  const counts = new Map<string, FailureCount>();
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
  return { counts, countOf, set };
}

const decided = (delayMs: number, isKnown: boolean): LimiterDecision =>
  delayMs === 0 ? { allowed: true, isKnown } : { allowed: false, retryAfterMs: delayMs };

const none: FailureCount = { failures: 0, at: 0 };

type Kind = Exclude<keyof typeof delayRules, 'newcomer'>;
type Key = { kind: Kind; key: string };

function keysOfNetwork(account: string | null, address: string): Key[] {
  const network = networkOf(address);
  const wider = widerNetworksOf(address);
  const keys: Partial<Record<Kind, string>> = {
    ...(account !== null && { pair: `pair ${network} ${account}` }),
    address: `address ${network}`,
    ...(wider && { subnet: `subnet ${wider.subnet}`, site: `site ${wider.site}` }),
    // Guesses from elsewhere must not keep the first owner from the set-up.
    ...(account !== null && account !== setupAccount && { account: `account ${account}` }),
  };
  return (Object.entries(keys) as [Kind, string][]).map(([kind, key]) => ({ kind, key }));
}
