import { randomUUIDv7 } from 'node:crypto';
import { type RawBuilder, sql } from 'kysely';
import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { nextTurn } from '@station/kit/timers';
import type { EventChannel } from '@station/protocol/cloud';
import { type FoldedReports, jsonRows } from '../history/fold-reports.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import { countDropped } from './dead-letter-store.ts';

/** A message for the cloud. `params` are those of its notification without `seq`; null when their source was deleted. */
export type OutboxMessage = { seq: number; channel: EventChannel; params: Record<string, unknown> | null };

/** `bytes` as in {@link OutboxAmount}. */
type OutboxSize = { pending: number; oldestAt: number | null; bytes: OutboxAmount['bytes'] };

export type OutboxStore = {
  /** Stores a message, if the cloud subscribed to its channel. @param content has its own `id`. */
  add(message: { channel: EventChannel; content: { id: string } & Record<string, unknown>; at: number }): Promise<void>;
  /** Messages after this number, in order. @param except numbers to leave out. */
  read(afterSeq: number, limit: number, except?: readonly number[]): Promise<OutboxMessage[]>;
  remove(seqs: readonly number[]): Promise<void>;
  size(): Promise<OutboxSize>;
  /** Drops the oldest messages while the outbox is larger than this; counted in `cloud_config.dropped`. @returns how many. */
  trim(maxBytes: number): Promise<number>;
};

const trimChunk = 2_000;

type Row = {
  seq: number;
  channel: EventChannel;
  content: string | null;
  id: string | null;
  deviceId: string;
  kind: string;
  data: string;
  eventAt: number;
};

export function createOutboxStore({ db, kind }: OutboxDatabase): OutboxStore {
  const measure = createOutboxMeasure(db);
  return {
    add: async ({ channel, content, at }) => {
      await sql`
        insert into cloud_outbox (channel, content, at)
        select ${channel}, ${JSON.stringify(content)}, cast(${at} as bigint) where ${isWanted(channel)}`.execute(db);
    },
    read: async (afterSeq, limit, except = []) => {
      const others = except.length === 0 ? sql`` : sql`and seq not in (select seq from ${rowsOf(kind, except)})`;
      const { rows } = await sql<Row>`
        select seq, channel, content, device_events.id as id, device_id as "deviceId", kind, data,
          device_events.at as "eventAt"
        from (select * from cloud_outbox where seq > ${afterSeq} ${others} order by seq limit ${limit}) as waiting
        left join device_events on device_events.id = waiting.ref order by seq`.execute(db);
      return rows.map((row) => ({ seq: row.seq, channel: row.channel, params: paramsOf(row) }));
    },
    remove: async (seqs) => {
      if (seqs.length === 0) return;
      await sql`delete from cloud_outbox where seq in (select seq from ${rowsOf(kind, seqs)})`.execute(db);
    },
    size: async () => {
      const { rows: pending, bytes } = await measure();
      const { rows } = await sql<{ at: number | null }>`
        select coalesce(waiting.at, device_events.at) as at from cloud_outbox as waiting
        left join device_events on device_events.id = waiting.ref order by seq limit 1`.execute(db);
      return { pending, oldestAt: rows[0]?.at ?? null, bytes };
    },
    trim: async (maxBytes) => {
      let dropped = 0;
      for (;;) {
        const excess = (await measure()).bytes - maxBytes;
        const number = excess > 0 ? await dropOldest(db, excess) : 0;
        if (number === 0) return dropped;
        dropped += number;
        // Yields to other work, however much there is to drop.
        await nextTurn();
      }
    },
  };
}

type OutboxDatabase = { db: Database; kind: 'sqlite' | 'postgres' };

const rowsOf = (kind: OutboxDatabase['kind'], seqs: readonly number[]) =>
  jsonRows(
    kind,
    seqs.map((seq) => ({ seq })),
    { seq: 'bigint' },
  );

/** Drops the oldest messages of about this many bytes, in small blocks. @returns how many. */
const dropOldest = (db: Database, excess: number): Promise<number> =>
  db.transaction().execute(async (transaction) => {
    const gone = await sql`
      delete from cloud_outbox where seq <= (select max(seq) from (
        select seq, sum(bytes) over (order by seq) - bytes as before from (
          select seq, ${rowBytes} as bytes from cloud_outbox order by seq limit ${sql.lit(trimChunk)}) as oldest
      ) as summed where before < cast(${excess} as bigint))`.execute(transaction);
    const number = Number(gone.numAffectedRows ?? 0n);
    await countDropped(transaction, number);
    return number;
  });

function paramsOf({ content, id, deviceId, kind, data, eventAt }: Row): Record<string, unknown> | null {
  if (content !== null) return JSON.parse(content) as Record<string, unknown>;
  if (id === null) return null;
  return { id, deviceId, kind, data: JSON.parse(data) as unknown, at: isoTime(eventAt) };
}

/** SQL condition: the station is claimed and the cloud subscribed to the channel. Otherwise nothing is stored. */
const isWanted = (channel: EventChannel): RawBuilder<boolean> =>
  sql<boolean>`exists (select 1 from cloud_config
    where station_token is not null and active_channels like ${`%"${channel}"%`})`;

/**
 * Adds the important part of a batch of reports to the outbox, in the transaction that writes the reports. Call it before the devices are
 * updated: only then status changes are visible. For an event it stores only the id; `device_events` has the content.
 */
export async function enqueueReports(
  transaction: DatabaseTransaction,
  kind: 'sqlite' | 'postgres',
  { changes, events }: Pick<FoldedReports, 'changes' | 'events'>,
): Promise<void> {
  const statuses = changes.flatMap(({ id: deviceId, status, statusAt: at }) => {
    if (status === null || at === null) return [];
    const content = JSON.stringify({ id: randomUUIDv7(), deviceId, status, at: isoTime(at) });
    return [{ deviceId, status, at, content }];
  });
  if (statuses.length > 0) {
    const columns = { deviceId: 'text', status: 'text', at: 'bigint', content: 'text' } as const;
    await sql`
      insert into cloud_outbox (channel, content, at)
      select 'status', given.content, given.at from ${jsonRows(kind, statuses, columns)}
      join devices on devices.id = given."deviceId"
      where devices.status <> given.status and ${isWanted('status')} order by given.at`.execute(transaction);
  }
  if (events.length === 0) return;
  const rows = events.map(({ id, deviceId }) => ({ id, deviceId }));
  await sql`
    insert into cloud_outbox (channel, ref)
    select 'events', given.id from ${jsonRows(kind, rows, { id: 'text', deviceId: 'text' })}
    join devices on devices.id = given."deviceId" where ${isWanted('events')} order by given.id`.execute(transaction);
}

/** `bytes`: sum of the rows' sizes on disk, without unused space in pages. */
type OutboxAmount = { rows: number; bytes: number };

/** Size of a row without its texts: number, header, page entry, time. */
const rowOverheadBytes = 24;
/** Rows in one statement, which takes one or two milliseconds. */
const blockRows = 5_000;

const rowBytes: RawBuilder<number> = sql`(${sql.lit(rowOverheadBytes)} + octet_length(channel) + coalesce(octet_length(ref), 0) + coalesce(octet_length(content), 0))`;

/** A range of numbers that ends here; it was full when it was measured. */
type Block = OutboxAmount & { last: number };

/**
 * Measures the outbox row by row, because sizes differ too much to estimate. Rows are added at the end and removed at the front, so the
 * middle is measured once and remembered. It yields to other work between two blocks.
 */
function createOutboxMeasure(db: Database): () => Promise<OutboxAmount> {
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
      await nextTurn();
      open = await measureBlock(open.last, null);
    }
    // Measures again from the front as far as rows were removed, and after the end, where rows were added.
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

const everyMs = 10_000;

/** Keeps the outbox within its limit. */
export function startOutboxKeeper(parts: {
  outbox: Pick<OutboxStore, 'trim'>;
  maxBytes: number;
  isLeading(): boolean;
  onTick(): void;
  clock: Clock;
  logger: BackendLogger;
}): AsyncDisposable {
  const { outbox, clock, logger } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, signal).catch(() => undefined);
  const keepWithinLimit = async (): Promise<void> => {
    const dropped = await outbox.trim(parts.maxBytes);
    if (dropped > 0) logger.event('cloud_outbox_full', { dropped });
  };
  const run = async (): Promise<void> => {
    for (;;) {
      await sleep(everyMs);
      if (signal.aborted) return;
      if (!parts.isLeading()) continue;
      await keepWithinLimit().catch((error: unknown) => {
        logger.failed('keeping the outbox of the cloud', error);
      });
      parts.onTick();
    }
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
