import { workerData } from 'node:worker_threads';
import { Kysely } from 'kysely';
import { systemClock } from '@station/kit/clock';
import { answerQuestions } from './adapters/asked-thread.ts';
import { createSqliteDialect, openSqliteReader } from './adapters/sqlite.ts';
import { createLargeReads, type LargeAnswer } from './devices/large-reads.ts';
import type { LargeQuestion } from './devices/threaded-reads.ts';
import type { Schema } from './store/schema.ts';

/** What the thread of `devices/threaded-reads.ts` does: it composes the reads on a connection of its own. */
const db = new Kysely<Schema>({ dialect: createSqliteDialect(openSqliteReader(String(workerData)), () => undefined) });

answerQuestions<LargeQuestion, LargeAnswer>({
  // Messages of devices come first; a tenth of a busy processor is left to reads.
  niceness: 10,
  answer: ({ read, now }) =>
    createLargeReads({ store: { db, kind: 'sqlite' }, clock: { ...systemClock, now: () => now } })(read),
  given: ({ body }) => [body.buffer],
});
