import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import type { DeviceEvent, DeviceEvents, DeviceReport, StatesBefore } from '../core/device-events.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import { channel } from './session.ts';

/** What replicas tell one another, as JSON. */
export type ReplicaMessage =
  | { kind: 'reports'; reports: readonly DeviceReport[] }
  | { kind: 'happening'; happening: Exclude<DeviceEvent, { kind: 'reports' | 'status' }> }
  /** `at`: when the broker's word of it came; it was published `ageMs` before that or later. */
  | { kind: 'will'; deviceId: string; at: number; ageMs: number }
  | { kind: 'revoked'; userId: string; at: number }
  /** Another cloud, or none, is stored now. */
  | { kind: 'cloud' };

/** A message as it is delivered. `before` comes with reports that this replica wrote. */
export type Delivered = { message: ReplicaMessage; before?: StatesBefore };

export type FanOut = AsyncDisposable & {
  /** Tells all replicas, this one too, when the transaction is on disk; in the order of the transactions. */
  announce(transaction: DatabaseTransaction, message: ReplicaMessage, before?: StatesBefore): Promise<string>;
  /** To be called with what `announce` gave, once the transaction has ended. */
  settled(name: string, isCommitted: boolean): void;
  /** As `announce`, in a transaction of its own; tried until it is done. */
  publish(message: ReplicaMessage): void;
  receive(payload: string): void;
  /** From now on nothing is delivered, until `release`; what comes meanwhile is kept. */
  hold(): void;
  release(): void;
  /** The connection that this replica listens on is there from now on, or no more. */
  listening(isListening: boolean): void;
};

type Own = { message: ReplicaMessage; before: StatesBefore | undefined; connection: number; isCommitted: boolean };

const retryMs = 500;
const maxQueued = 10_000;

/**
 * Tells every replica the same messages in the same order, through PostgreSQL's notifications: they come with the transaction or not at all.
 * @param onTooMany more waits than is sensible: the others cannot be told all of it.
 */
export function createFanOut(options: {
  db: Database;
  replicaId: string;
  deliver: (delivered: Delivered) => void;
  onTooMany: () => void;
  clock: Clock;
  logger: BackendLogger;
}): FanOut {
  const { db, deliver, clock, logger } = options;
  const joiner = createJoiner();
  /** Announced here and not heard back yet. */
  const own = new Map<string, Own>();
  let held: Delivered[] | null = [];
  let connection = 0;
  let isListening = false;
  let counter = 0;
  // A process of the same name that ran before does not count as this one.
  const prefix = `${options.replicaId}.${process.pid.toString(36)}.${Math.round(clock.now()).toString(36)}`;

  const hand = (delivered: Delivered): void => {
    if (held === null) deliver(delivered);
    else held.push(delivered);
  };
  /** What this replica wrote and will not hear of any more. */
  const handOwn = (name: string): void => {
    const entry = own.get(name);
    if (!own.delete(name) || entry === undefined) return;
    const { message, before } = entry;
    hand(before === undefined ? { message } : { message, before });
  };
  const announce: FanOut['announce'] = async (transaction, message, before) => {
    const name = `${prefix}.${(counter++).toString(36)}`;
    own.set(name, { message, before, connection, isCommitted: false });
    const parts = toParts(name, JSON.stringify(message));
    await sql`
      select pg_notify(${channel}, part)
      from (select part from unnest(${parts}::text[]) with ordinality as given(part, number) order by number) as ordered
    `.execute(transaction);
    return name;
  };
  const settled: FanOut['settled'] = (name, isCommitted) => {
    const entry = own.get(name);
    if (entry === undefined) return;
    entry.isCommitted = isCommitted;
    if (!isCommitted) own.delete(name);
    else if (!isListening || entry.connection !== connection) handOwn(name);
  };
  const publisher = createPublisher({
    send: async (message) => {
      let name = '';
      try {
        await db.transaction().execute(async (transaction) => {
          name = await announce(transaction, message);
        });
      } catch (error) {
        settled(name, false);
        throw error;
      }
      settled(name, true);
    },
    onTooMany: options.onTooMany,
    clock,
    logger,
  });

  return {
    announce,
    settled,
    publish: publisher.add,
    receive: (payload) => {
      const joined = joiner.add(payload);
      if (joined === null) return;
      if (own.has(joined.name)) handOwn(joined.name);
      else hand({ message: JSON.parse(joined.text) as ReplicaMessage });
    },
    hold: () => {
      held ??= [];
    },
    release: () => {
      const waiting = held ?? [];
      held = null;
      for (const delivered of waiting) deliver(delivered);
    },
    listening: (now) => {
      isListening = now;
      joiner.clear();
      if (now) connection += 1;
      else for (const [name, { isCommitted }] of own) if (isCommitted) handOwn(name);
    },
    [Symbol.asyncDispose]: () => publisher[Symbol.asyncDispose](),
  };
}

/** Sends one after another; what fails is sent again before the next. */
function createPublisher(options: {
  send: (message: ReplicaMessage) => Promise<void>;
  onTooMany: () => void;
  clock: Clock;
  logger: BackendLogger;
}): AsyncDisposable & { add(message: ReplicaMessage): void } {
  const { send, clock, logger } = options;
  const ending = new AbortController();
  const queue: ReplicaMessage[] = [];
  let running: Promise<void> | null = null;

  const run = async (): Promise<void> => {
    let said = '';
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      try {
        await send(next);
        queue.shift();
      } catch (error) {
        const message = describeError(error);
        if (message !== said) logger.event('unexpected_error', { where: 'telling the other replicas', message });
        said = message;
        if (ending.signal.aborted) break;
        await clock.sleep(retryMs, ending.signal).catch(() => undefined);
      }
    }
    running = null;
  };
  return {
    add: (message) => {
      if (queue.length >= maxQueued) return options.onTooMany();
      queue.push(message);
      running ??= Promise.resolve().then(run);
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      while (running !== null) await running;
    },
  };
}

/** PostgreSQL takes 7,999 bytes in a notification (its documentation, NOTIFY); the rest is for what stands before the text. */
export const maxPartLength = 7_800;

/** A text of any length as notifications: `<name> <number> <count> <piece>`, all ASCII. Pure. */
export function toParts(name: string, text: string): string[] {
  const ascii = text.replace(
    /[\u007f-\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  const count = Math.max(1, Math.ceil(ascii.length / maxPartLength));
  return Array.from(
    { length: count },
    (_, index) => `${name} ${index} ${count} ${ascii.slice(index * maxPartLength, (index + 1) * maxPartLength)}`,
  );
}

type Joined = { name: string; text: string };

type Joiner = {
  /** @returns the whole text with its last piece; null before that, and for pieces whose beginning was not heard. */
  add(part: string): Joined | null;
  /** Forgets what was begun: the rest will not come. */
  clear(): void;
};

/** Puts notifications together again. Those of one transaction come in order and with none of another between them. */
export function createJoiner(): Joiner {
  let open: { name: string; pieces: string[] } | null = null;
  return {
    add: (part) => {
      const [name = '', number = '', count = ''] = part.split(' ', 3);
      const piece = part.slice(name.length + number.length + count.length + 3);
      if (number === '0') open = { name, pieces: [] };
      if (open === null || open.name !== name || open.pieces.length !== Number(number)) return null;
      open.pieces.push(piece);
      if (open.pieces.length < Number(count)) return null;
      const text = open.pieces.join('');
      open = null;
      return { name, text };
    },
    clear: () => {
      open = null;
    },
  };
}

/** What is told here is told at every replica, in the same order; `reports` and `status` stay here, for each makes its own. */
export function shareEvents(local: DeviceEvents, { publish }: Pick<FanOut, 'publish'>): DeviceEvents {
  return {
    subscribe: local.subscribe,
    emit: (event) => {
      if (event.kind === 'reports' || event.kind === 'status') local.emit(event);
      else publish({ kind: 'happening', happening: event });
    },
  };
}
