import { createAskedThread } from './adapters/asked-thread.ts';
import { findThreadProgram } from './adapters/thread-program.ts';
import type { Foundations } from './backend-foundations.ts';
import { createLargeReads, type LargeAnswer, type LargeReads } from './devices/large-reads.ts';
import { createThreadedReads, type LargeQuestion } from './devices/threaded-reads.ts';

/** A thread needs some megabytes. People who look around ask again within a minute. */
const idleMs = 60_000;

/** Large reads: on SQLite in a thread, whose connection reads what is committed; PostgreSQL answers beside us anyway. */
export function openReads(
  opened: AsyncDisposableStack,
  { config: { database }, store, host: { clock, logger } }: Foundations,
): LargeReads {
  const reads = createLargeReads({ store, clock });
  if (database.kind !== 'sqlite') return reads;
  const program = (): string => findThreadProgram('station-large-reads.mjs', '../large-reads-thread.ts');
  const thread = opened.use(createAskedThread<LargeQuestion, LargeAnswer>({ program, data: database.file, idleMs }));
  return createThreadedReads({ thread, reads, clock, logger });
}
