import { sql } from 'kysely';
import { isoTime, type Clock } from '@station/kit/clock';
import type { CloudDeadLetter, EventChannel } from '@station/protocol/cloud';
import type { Database, DatabaseTransaction } from '../store/schema.ts';

/** Dead letters (messages at which the cloud always closed the link): the table `cloud_dead_letters`. */
export type DeadLetterStore = {
  /** Moves a message out of the outbox. The newest 1,000 are kept; older ones are counted in `cloud_config.dropped`. */
  add(seq: number, reason: string): Promise<void>;
  size(): Promise<{ count: number; oldestAt: number | null }>;
  /** Newest first. */
  list(limit: number): Promise<CloudDeadLetter[]>;
  /** Moves all of them to the end of the outbox, each with its previous `id`. @returns how many. */
  resend(): Promise<number>;
};

const maxDeadLetters = 1_000;

export function createDeadLetterStore({ db, clock }: { db: Database; clock: Clock }): DeadLetterStore {
  return {
    add: async (seq, reason) => {
      await db.transaction().execute(async (transaction) => {
        await sql`
          insert into cloud_dead_letters (seq, channel, content, reason, at)
          select seq, channel, coalesce(content, ref, ''), ${reason}, cast(${clock.now()} as bigint)
          from cloud_outbox where seq = ${seq}
          on conflict (seq) do nothing`.execute(transaction);
        await sql`delete from cloud_outbox where seq = ${seq}`.execute(transaction);
        const gone = await sql`delete from cloud_dead_letters where seq not in (
          select seq from cloud_dead_letters order by at desc, seq desc limit ${sql.lit(maxDeadLetters)})`.execute(
          transaction,
        );
        const number = Number(gone.numAffectedRows ?? 0n);
        if (number > 0) await countDropped(transaction, number);
      });
    },
    size: async () => {
      const { countAll, min } = db.fn;
      const row = await db
        .selectFrom('cloud_dead_letters')
        .select([countAll<number>().as('count'), min('at').as('oldestAt')])
        .executeTakeFirst();
      return { count: Number(row?.count ?? 0), oldestAt: row?.oldestAt ?? null };
    },
    list: async (limit) => {
      const columns = ['seq', 'channel', 'reason', 'at'] as const;
      const order = db.selectFrom('cloud_dead_letters').select(columns).orderBy('at', 'desc').orderBy('seq', 'desc');
      const rows = await order.limit(limit).execute();
      return rows.map((row) => ({ ...row, channel: row.channel as EventChannel, at: isoTime(row.at) }));
    },
    resend: () =>
      db.transaction().execute(async (transaction) => {
        // Text that begins with a brace is the content; any other text is the id of its event. An empty message is not sent.
        const { numAffectedRows = 0n } = await sql`
          insert into cloud_outbox (channel, ref, content, at)
          select channel, case when content like '{%' then null else content end,
            case when content like '{%' then content end, case when content like '{%' then at end
          from cloud_dead_letters where content <> '' order by seq`.execute(transaction);
        await sql`delete from cloud_dead_letters`.execute(transaction);
        return Number(numAffectedRows);
      }),
  };
}

/** `cloud_config.dropped`: messages lost because a limit was reached. */
export async function countDropped(transaction: DatabaseTransaction, number: number): Promise<void> {
  await sql`update cloud_config set dropped = dropped + cast(${number} as bigint)`.execute(transaction);
}
