import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import { alwaysLeader, type Leadership } from '../core/leadership.ts';
import type { HistoryStore } from './history-store.ts';

const everyMs = 60 * 60 * 1000;
/** A delay, so that it does not slow down the start. */
const firstAfterMs = 5 * 60 * 1000;

/** Downsamples the history once an hour until disposed. A failure is logged; the next hour tries again. */
export function startHousekeeping(dependencies: {
  history: Pick<HistoryStore, 'downsample'>;
  /** Further clean-up work of the same hour. */
  also?: readonly (() => Promise<void>)[];
  /** Of several backends only the leader does it; two at the same time would be harmless. */
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
          logger.event('unexpected_error', { where: 'downsampling the history', message: describeError(error) });
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
