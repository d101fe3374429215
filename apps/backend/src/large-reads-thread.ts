import { Kysely } from 'kysely';
import { systemClock } from '@station/kit/clock';
import { answerQuestions } from './core/adapters/asked-thread.ts';
import { openSqliteReader } from './core/adapters/sqlite.ts';
import { createSqliteDialect } from './core/adapters/sqlite-dialect.ts';
import { createLargeReads, type LargeAnswer } from './devices/large-reads.ts';
import type { LargeQuestion } from './devices/threaded-reads.ts';
import { createLoggedReports } from './store/logged-reports.ts';
import type { Schema } from './store/schema.ts';

/** What the thread of `devices/threaded-reads.ts` does: it composes the reads on a connection of its own. */
answerQuestions<LargeQuestion, LargeAnswer>({
  // Messages of devices come first; a tenth of a busy processor is left to reads.
  niceness: 10,
  open: (file) => {
    const dialect = createSqliteDialect(openSqliteReader(String(file)), () => undefined);
    const store = { db: new Kysely<Schema>({ dialect }), kind: 'sqlite' } as const;
    return ({ read, now, newer }) => {
      const logged = createLoggedReports(newer);
      return createLargeReads({ store: { ...store, logged }, clock: { ...systemClock, now: () => now } })(read);
    };
  },
  given: ({ body }) => [body.buffer],
});
