import type { BackendLogger } from '@station/kit/logger';

const keptEvents = 200;
const longestEvent = 2_000;

export type RecentLog = Disposable & {
  /** The last events without those of single requests, oldest first, as lines of JSON. */
  lines(): string[];
};

/** Keeps the last events of the backend in memory, for the diagnostics. */
export function keepRecentLog(logger: Pick<BackendLogger, 'subscribe'>): RecentLog {
  let kept: string[] = [];
  const subscription = logger.subscribe((event) => {
    if (event.level === 'debug' || event.event === 'request') return;
    kept.push(JSON.stringify(event).slice(0, longestEvent));
    if (kept.length > 2 * keptEvents) kept = kept.slice(-keptEvents);
  });
  return { lines: () => kept.slice(-keptEvents), [Symbol.dispose]: () => subscription[Symbol.dispose]() };
}
