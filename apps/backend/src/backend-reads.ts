import { createAskedThread } from './adapters/asked-thread.ts';
import { findThreadProgram } from './adapters/thread-program.ts';
import type { BackendConfig } from './config.ts';
import { createLargeReads, type LargeAnswer, type LargeReads } from './devices/large-reads.ts';
import { createThreadedReads, type LargeQuestion } from './devices/threaded-reads.ts';
import type { Platform } from './platform/module.ts';

/** A thread needs some megabytes. People who look around ask again within a minute. */
const idleMs = 60_000;

/** Large reads: on SQLite in a thread, whose connection reads what is committed; PostgreSQL answers beside us anyway. */
export function openReads(
  opening: AsyncDisposableStack,
  { database }: Pick<BackendConfig, 'database'>,
  { store, host: { clock, logger } }: Platform,
): LargeReads {
  const reads = createLargeReads({ store, clock });
  if (database.kind !== 'sqlite') return reads;
  const program = (): string => findThreadProgram('station-large-reads.mjs', '../large-reads-thread.ts');
  const thread = opening.use(createAskedThread<LargeQuestion, LargeAnswer>({ program, data: database.file, idleMs }));
  return createThreadedReads({ thread, reads, clock, logger });
}
