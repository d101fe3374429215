import { parseObject } from '@station/kit/json';
import type { ConsumerKind } from '@station/protocol/consumers';
import type { Database } from '../store/schema.ts';
import type { ConsumersTable } from './consumers-tables.ts';

export type ConsumerRow = ConsumersTable;

/** Parts of what a topic tells, with their platform. */
export type Parts = Readonly<Record<string, string>>;

/** Which other systems see the devices, and where the broker keeps something for them. */
export type ConsumerStore = ReturnType<typeof createConsumerStore>;

export const createConsumerStore = (db: Database) => ({
  list: (): Promise<ConsumerRow[]> => db.selectFrom('consumers').selectAll().execute(),
  save: async (row: ConsumerRow): Promise<void> => {
    const { kind, ...values } = row;
    await db
      .insertInto('consumers')
      .values({ kind, ...values })
      .onConflict((conflict) => conflict.column('kind').doUpdateSet(values))
      .execute();
  },
  remove: async (kind: ConsumerKind): Promise<void> => {
    await db.deleteFrom('consumers').where('kind', '=', kind).execute();
  },
  /** Topics on which the broker may keep something. */
  topics: async (kind: ConsumerKind): Promise<Map<string, Parts>> => {
    const rows = await db.selectFrom('consumer_topics').select(['topic', 'parts']).where('kind', '=', kind).execute();
    return new Map(rows.map(({ topic, parts }) => [topic, readParts(parts)]));
  },
  keep: async (kind: ConsumerKind, topics: ReadonlyMap<string, Parts>): Promise<void> => {
    await db.transaction().execute(async (transaction) => {
      for (const [topic, told] of topics) {
        const parts = JSON.stringify(told);
        await transaction
          .insertInto('consumer_topics')
          .values({ kind, topic, parts })
          .onConflict((conflict) => conflict.columns(['kind', 'topic']).doUpdateSet({ parts }))
          .execute();
      }
    });
  },
  forget: async (kind: ConsumerKind, topic: string): Promise<void> => {
    await db.deleteFrom('consumer_topics').where('kind', '=', kind).where('topic', '=', topic).execute();
  },
  /** Names of zones by id. */
  zones: async (): Promise<ReadonlyMap<string, string>> => {
    const rows = await db.selectFrom('zones').select(['id', 'name']).execute();
    return new Map(rows.map(({ id, name }) => [id, name]));
  },
});

function readParts(text: string): Parts {
  const value = parseObject(text) ?? {};
  return Object.fromEntries(
    Object.entries(value).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
