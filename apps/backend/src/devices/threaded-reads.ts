import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { AskedThread } from './adapters/asked-thread.ts';
import type { LargeAnswer, LargeRead, LargeReads } from './large-reads.ts';

/** `now`: the time of the station, which the thread does not know. */
export type LargeQuestion = { read: LargeRead; now: number };

/**
 * Large reads in a thread, so that devices and small answers do not wait for them. Whatever the thread cannot answer is read here: an
 * error of the database then is noticed where all others are.
 */
export function createThreadedReads(parts: {
  thread: AskedThread<LargeQuestion, LargeAnswer>;
  reads: LargeReads;
  clock: Pick<Clock, 'now'>;
  logger: BackendLogger;
}): LargeReads {
  const { thread, reads, clock, logger } = parts;
  return async (read) => {
    try {
      return await thread.ask({ read, now: clock.now() });
    } catch (error) {
      logger.failed('thread of large reads', error);
      return reads(read);
    }
  };
}
