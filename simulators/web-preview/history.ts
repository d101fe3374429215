import type { DeviceHistory, NumberPoint, TransitionPoint } from '@station/protocol/device-history';

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;

const numbers: Readonly<Record<string, number>> = {
  temperature: 21,
  humidity: 45,
  battery: 80,
  brightness: 50,
  water: 1,
};
const switched = ['motion', 'on', 'hot'];

/** A made-up history with a gap of a tenth of the range; `mode` has texts, booleans change often once a day. */
export function historyOf(capability: string, fromMs: number, nowMs: number): DeviceHistory {
  const length = nowMs - fromMs;
  const resolutionMs = [10_000, minute, 5 * minute, hour, 3 * hour, day].find((one) => length / one <= 400) ?? 7 * day;
  const start = Math.floor(fromMs / resolutionMs) * resolutionMs;
  const iso = (at: number): string => new Date(at).toISOString();
  const gap = { fromMs: nowMs - 0.5 * length, toMs: nowMs - 0.4 * length };
  const range = {
    from: iso(start),
    to: iso(nowMs),
    resolutionMs,
    gaps: [{ from: iso(gap.fromMs), to: iso(gap.toMs) }],
  };
  const intervals = Array.from(
    { length: Math.ceil((nowMs - start) / resolutionMs) },
    (_, n) => start + n * resolutionMs,
  );
  const known = intervals.filter((at) => at < gap.fromMs || at >= gap.toMs);
  if (capability in numbers || !(switched.includes(capability) || capability === 'mode')) {
    const points = known.map((at, n): NumberPoint => {
      const value = (numbers[capability] ?? 10) + 1.6 * Math.sin(n / 46) + 0.3 * Math.sin(n / 3);
      return { at: iso(at), value, lowest: value - 0.3, highest: value + 0.3, count: 6 };
    });
    return { kind: 'number', ...range, points };
  }
  const texts = ['auto', 'manual', 'away'];
  const points = known.flatMap((at, n): TransitionPoint[] => {
    if (capability === 'mode') return n % 40 === 0 ? [{ at: iso(at), value: texts[(n / 40) % 3] ?? 'auto' }] : [];
    if (n % 90 === 60) return [{ at: iso(at), value: true, share: 0.4, changes: 9 }];
    if (n % 90 === 61) return [{ at: iso(at), value: false, changes: 0 }];
    return n % 37 === 0 || n % 37 === 5 ? [{ at: iso(at), value: n % 37 === 0 }] : [];
  });
  return { kind: 'transitions', ...range, points };
}
