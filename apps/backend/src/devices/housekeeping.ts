import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import { alwaysLeader, type Leadership } from '../core/leadership.ts';
import type { HistoryStore } from './history-store.ts';

const everyMs = 60 * 60 * 1000;
/** Not while the backend is starting. */
const firstAfterMs = 5 * 60 * 1000;

/** Thins out the history once an hour until it is disposed. A failure is said and tried again the next hour. */
export function startHousekeeping(dependencies: {
  history: Pick<HistoryStore, 'downsample'>;
  /** What else is thinned out then. */
  also?: readonly (() => Promise<void>)[];
  /** Of several backends one does it; that two did for a moment would change nothing. */
  leadership?: Leadership;
  clock: Clock;
  logger: BackendLogger;
}): AsyncDisposable {
  const { history, also = [], leadership = alwaysLeader, clock, logger } = dependencies;
  const stopping = new AbortController();
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, stopping.signal).catch(() => undefined);
  const run = async (): Promise<void> => {
    await sleep(firstAfterMs);
    while (!stopping.signal.aborted) {
      for (const downsample of leadership.isLeader() ? [history.downsample, ...also] : []) {
        await downsample(stopping.signal).catch((error: unknown) => {
          logger.event('unexpected_error', { where: 'thinning out the history', message: describeError(error) });
        });
      }
      await sleep(everyMs);
    }
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
