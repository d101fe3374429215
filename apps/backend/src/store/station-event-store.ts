import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { ActivityEventData } from '@station/protocol/activity';
import { createEventIds } from '../core/event-ids.ts';
import type { StationEvents } from '../core/station-events.ts';
import type { Database } from './schema.ts';

export type StationEventStore = StationEvents & AsyncDisposable;

/** Texts from outside, such as what a browser calls itself, are cut. */
const maxTextLength = 300;

/** Keeps events in the order in which they were noted. Disposing waits for the last one. */
export function createStationEvents({
  db,
  onNoted,
  clock,
  logger,
}: {
  db: Database;
  onNoted: () => void;
  clock: Pick<Clock, 'now'>;
  logger: BackendLogger;
}): StationEventStore {
  const newId = createEventIds(() => clock.now());
  let line: Promise<void> = Promise.resolve();
  return {
    note: (kind, data, { userId = null, once = null, at = clock.now() }: NoteOptions = {}) => {
      const row = { id: newId(), kind, user_id: userId, data: JSON.stringify(data, cutTexts), once, at };
      line = line
        .then(async () => {
          const { numInsertedOrUpdatedRows: added } = await db
            .insertInto('station_events')
            .values(row)
            .onConflict((conflict) => conflict.column('once').doNothing())
            .executeTakeFirstOrThrow();
          if (added !== 0n) onNoted();
        })
        .catch((error: unknown) => logger.failed(`station event ${kind}`, error));
    },
    [Symbol.asyncDispose]: () => line,
  };
}

type NoteOptions = { userId?: string | null; once?: string | null; at?: number };

/** Conditions that were raised and not cleared, as `source:id`. */
export async function standingConditions(db: Database): Promise<ReadonlySet<string>> {
  const rows = await db
    .selectFrom('station_events')
    .select(['kind', 'data'])
    .where('kind', 'in', ['condition_raised', 'condition_cleared'])
    .orderBy('id')
    .execute();
  const standing = new Set<string>();
  for (const { kind, data } of rows) {
    const { source, condition } = JSON.parse(data) as ActivityEventData<'condition_cleared'>;
    if (kind === 'condition_raised') standing.add(`${source}:${condition}`);
    else standing.delete(`${source}:${condition}`);
  }
  return standing;
}

const cutTexts = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? value.slice(0, maxTextLength).toWellFormed() : value;
