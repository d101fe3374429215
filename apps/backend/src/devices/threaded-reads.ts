import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { LoggedReports, Reported } from '../store/logged-reports.ts';
import type { AskedThread } from '../core/adapters/asked-thread.ts';
import type { LargeAnswer, LargeRead, LargeReads } from './large-reads.ts';

/** `now`: the time of the station, `newer`: what is not in the tables yet. The thread knows neither. */
export type LargeQuestion = { read: LargeRead; now: number; newer: ReadonlyMap<string, Reported> };

const nothingNewer: LargeQuestion['newer'] = new Map();
/** More is moved to the tables rather than copied to the thread. */
const mostCopied = 500;

/**
 * Large reads in a thread, so that devices and small answers do not wait for them. Whatever the thread cannot answer is read here: an
 * error of the database then is noticed where all others are.
 */
export function createThreadedReads(parts: {
  thread: AskedThread<LargeQuestion, LargeAnswer>;
  reads: LargeReads;
  logged: Pick<LoggedReports, 'settle' | 'newer'>;
  clock: Pick<Clock, 'now'>;
  logger: BackendLogger;
}): LargeReads {
  const { thread, reads, logged, clock, logger } = parts;
  const newerFor = async ({ kind }: LargeRead): Promise<LargeQuestion['newer']> => {
    if (kind === 'events' || kind === 'activity') return nothingNewer;
    if (kind === 'history' || logged.newer().size > mostCopied) await logged.settle();
    return logged.newer();
  };
  return async (read) => {
    try {
      const newer = await newerFor(read);
      return await thread.ask({ read, now: clock.now(), newer });
    } catch (error) {
      logger.failed('thread of large reads', error);
      return reads(read);
    }
  };
}
