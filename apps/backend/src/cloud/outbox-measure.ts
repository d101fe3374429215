import { sql, type RawBuilder } from 'kysely';
import type { Database } from '../store/schema.ts';

/** `bytes` is the sum over the rows: what each takes on the disk, but for what a page has left over. */
export type OutboxAmount = { rows: number; bytes: number };

/** What a row takes beside its texts: its number, header, place in the page, time. */
const rowOverheadBytes = 24;
/** In one statement: a millisecond or two. */
const blockRows = 5_000;

export const rowBytes: RawBuilder<number> = sql`(${sql.lit(rowOverheadBytes)} + octet_length(channel) + coalesce(octet_length(ref), 0) + coalesce(octet_length(content), 0))`;

/** A stretch of numbers that ends here, full when it was measured. */
type Block = OutboxAmount & { last: number };

/**
 * Measures the outbox row by row: neither its ends nor its mean tell how large what lies between is. Rows come in at the end and leave
 * from the front, so what is between is measured once and remembered. Others are served between two blocks.
 */
export function createOutboxMeasure(db: Database): () => Promise<OutboxAmount> {
  const blocks: Block[] = [];
  let measuring: Promise<OutboxAmount> | null = null;

  const measureBlock = async (after: number, upTo: number | null): Promise<Block> => {
    const end = upTo === null ? sql`` : sql`and seq <= ${upTo}`;
    const { rows: found } = await sql<{ rows: number | string; bytes: number | string | null; last: number | null }>`
      select count(*) as rows, sum(bytes) as bytes, max(seq) as last from (
        select seq, ${rowBytes} as bytes from cloud_outbox where seq > ${after} ${end}
        order by seq limit ${sql.lit(blockRows)}) as block`.execute(db);
    const { rows = 0, bytes = 0, last = null } = found[0] ?? {};
    return { rows: Number(rows), bytes: Number(bytes), last: last ?? after };
  };
  const measure = async (): Promise<OutboxAmount> => {
    let open = await measureBlock(blocks.at(-1)?.last ?? 0, null);
    while (open.rows === blockRows) {
      blocks.push(open);
      await new Promise<void>((resolve) => setImmediate(resolve));
      open = await measureBlock(open.last, null);
    }
    // From the front as far as something was taken away, also behind one that was left there. After the end: meanwhile more was.
    for (let block = blocks[0], after = 0; block !== undefined;) {
      const { rows, bytes } = await measureBlock(after, block.last);
      if (rows === blockRows && bytes === block.bytes) break;
      Object.assign(block, { rows, bytes });
      if (rows === 0) blocks.splice(blocks.indexOf(block), 1);
      after = block.last;
      block = blocks.find(({ last }) => last > after);
    }
    return [...blocks, open].reduce((sum, { rows, bytes }) => ({ rows: sum.rows + rows, bytes: sum.bytes + bytes }), {
      rows: 0,
      bytes: 0,
    });
  };
  return () => (measuring ??= measure().finally(() => (measuring = null)));
}
