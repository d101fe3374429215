import type { Clock } from '@station/kit/clock';
import { every } from '@station/kit/timers';
import type { BackendConditions } from '../core/conditions.ts';

export type Reconnects = Disposable & {
  /** A device of the station has connected: it sent its handshake, or its connection replaced an older one. */
  seen(externalId: string, sign: 'handshake' | 'replaced'): void;
};

/** A board that sleeps connects less often; two that push each other out connect every few seconds. */
const maxWithin = { count: 6, ms: 2 * 60_000 } as const;
/** After this time without another one it is over. */
const quietMs = 5 * 60_000;
const checkEveryMs = 30_000;
/** External ids in the details of the condition. */
const maxListed = 20;

/** Devices that connect again and again: two boards with one id push each other out, or a board restarts. */
export function createReconnects(parts: {
  conditions: Pick<BackendConditions, 'set'>;
  clock: Pick<Clock, 'monotonic'>;
}): Reconnects {
  const { conditions, clock } = parts;
  /** Latest times of each device and sign, at most `maxWithin.count`. */
  const times = new Map<string, { externalId: string; at: number[] }>();
  const noted = new Map<string, number>();
  const tell = (): void => {
    const externalIds = [...noted.keys()].sort();
    const details = { externalIds: externalIds.slice(0, maxListed), count: externalIds.length };
    conditions.set('devices_reconnecting', externalIds.length > 0, details);
  };
  const forget = (): void => {
    const nowMs = clock.monotonic();
    for (const [key, { at }] of times) if (nowMs - (at.at(-1) ?? 0) >= quietMs) times.delete(key);
    let isChanged = false;
    for (const [externalId, lastMs] of noted)
      if (nowMs - lastMs >= quietMs) isChanged = noted.delete(externalId) || isChanged;
    if (isChanged) tell();
  };
  const checking = every(checkEveryMs, forget);
  return {
    seen: (externalId, sign) => {
      forget();
      const nowMs = clock.monotonic();
      const key = `${sign} ${externalId}`;
      const { at } = times.get(key) ?? { at: [] };
      const latest = [...at, nowMs].slice(-maxWithin.count);
      times.set(key, { externalId, at: latest });
      const isOften = latest.length === maxWithin.count && nowMs - (latest[0] ?? nowMs) <= maxWithin.ms;
      const isKnown = noted.has(externalId);
      if (isKnown || isOften) noted.set(externalId, nowMs);
      if (!isKnown && isOften) tell();
    },
    [Symbol.dispose]: () => checking[Symbol.dispose](),
  };
}
