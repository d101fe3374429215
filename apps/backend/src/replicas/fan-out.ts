import { sql } from 'kysely';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import type { DeviceEvent, DeviceEvents, DeviceReport, StatesBefore } from '../core/device-events.ts';
import type { Database, DatabaseTransaction } from '../store/schema.ts';
import { channel } from './session.ts';

/** Messages between replicas, as JSON. */
export type ReplicaMessage =
  | { kind: 'reports'; reports: readonly DeviceReport[] }
  | { kind: 'event'; event: Exclude<DeviceEvent, { kind: 'reports' | 'status' }> }
  /** `at`: when the last will arrived; it was published at most `ageMs` before. */
  | { kind: 'will'; deviceId: string; at: number; ageMs: number }
  /** `userId`: of the user, or of the session. */
  | { kind: 'revoked'; userId: string; at: number }
  /** Whether clients are connected to a replica. */
  | { kind: 'watched'; replicaId: string; isWatched: boolean }
  /** The stored cloud configuration changed. */
  | { kind: 'cloud' };

/** A delivered message. `before` is set for reports that this replica wrote. */
export type Delivered = { message: ReplicaMessage; before?: StatesBefore };

export type FanOut = AsyncDisposable & {
  /** Sends to all replicas, also this one, once the transaction is on disk, in the order of the transactions. */
  announce(transaction: DatabaseTransaction, message: ReplicaMessage, before?: StatesBefore): Promise<string>;
  /** Call it with the result of `announce`, once the transaction has ended. */
  settled(name: string, isCommitted: boolean): void;
  /** As `announce`, in its own transaction; retries until done. */
  publish(message: ReplicaMessage): void;
  receive(payload: string): void;
  /** Pauses delivery until `release`; messages that arrive meanwhile are kept. */
  hold(): void;
  release(): void;
  /** The connection on which this replica listens opened or closed. */
  listening(isListening: boolean): void;
};

/** A message that this replica announced, and did not receive back yet. */
type OwnMessage = {
  message: ReplicaMessage;
  before: StatesBefore | undefined;
  connection: number;
  isCommitted: boolean;
};

type FanOutState = {
  deliver: (delivered: Delivered) => void;
  own: Map<string, OwnMessage>;
  /** Null: messages are delivered at once. */
  held: Delivered[] | null;
  /** Number of connections so far. */
  connection: number;
  isListening: boolean;
  announced: number;
  /** An earlier process of the same name does not count as this one. */
  prefix: string;
};

const retryMs = 500;
const maxQueued = 10_000;

/**
 * Sends every replica the same messages in the same order, by PostgreSQL notifications, which are part of the transaction.
 * @param onTooMany the queue is over its limit: the other replicas will miss messages.
 */
export function createFanOut(options: {
  db: Database;
  replicaId: string;
  deliver: (delivered: Delivered) => void;
  onTooMany: () => void;
  clock: Clock;
  logger: BackendLogger;
}): FanOut {
  const { db, replicaId, deliver, onTooMany, clock, logger } = options;
  const joiner = createJoiner();
  const state: FanOutState = {
    deliver,
    own: new Map(),
    held: [],
    connection: 0,
    isListening: false,
    announced: 0,
    prefix: `${replicaId}.${process.pid.toString(36)}.${Math.round(clock.now()).toString(36)}`,
  };
  const send = (message: ReplicaMessage): Promise<void> => sendAlone(state, db, message);
  const publisher = createPublisher({ send, onTooMany, clock, logger });
  return {
    announce: (transaction, message, before) => announce(state, transaction, message, before),
    settled: (name, isCommitted) => settle(state, name, isCommitted),
    publish: publisher.add,
    receive: (payload) => {
      const joined = joiner.add(payload);
      if (joined === null) return;
      if (state.own.has(joined.name)) deliverOwn(state, joined.name);
      else deliverOrHold(state, { message: JSON.parse(joined.text) as ReplicaMessage });
    },
    hold: () => {
      state.held ??= [];
    },
    release: () => {
      const waiting = state.held ?? [];
      state.held = null;
      for (const delivered of waiting) deliver(delivered);
    },
    listening: (isListening) => {
      state.isListening = isListening;
      joiner.clear();
      if (isListening) state.connection += 1;
      else for (const [name, { isCommitted }] of state.own) if (isCommitted) deliverOwn(state, name);
    },
    [Symbol.asyncDispose]: () => publisher[Symbol.asyncDispose](),
  };
}

async function announce(
  state: FanOutState,
  transaction: DatabaseTransaction,
  message: ReplicaMessage,
  before?: StatesBefore,
): Promise<string> {
  const { own, prefix, connection } = state;
  const name = `${prefix}.${(state.announced++).toString(36)}`;
  own.set(name, { message, before, connection, isCommitted: false });
  const parts = toParts(name, JSON.stringify(message));
  const announcing = sql`
    select pg_notify(${channel}, part)
    from (select part from unnest(${parts}::text[]) with ordinality as given(part, number) order by number) as ordered
  `.execute(transaction);
  try {
    await announcing;
  } catch (error) {
    // Nobody learns its name.
    own.delete(name);
    throw error;
  }
  return name;
}

function settle(state: FanOutState, name: string, isCommitted: boolean): void {
  const entry = state.own.get(name);
  if (entry === undefined) return;
  entry.isCommitted = isCommitted;
  if (!isCommitted) state.own.delete(name);
  // It will not be received back.
  else if (!state.isListening || entry.connection !== state.connection) deliverOwn(state, name);
}

function deliverOwn(state: FanOutState, name: string): void {
  const entry = state.own.get(name);
  if (!state.own.delete(name) || entry === undefined) return;
  const { message, before } = entry;
  deliverOrHold(state, before === undefined ? { message } : { message, before });
}

function deliverOrHold({ deliver, held }: FanOutState, delivered: Delivered): void {
  if (held === null) deliver(delivered);
  else held.push(delivered);
}

async function sendAlone(state: FanOutState, db: Database, message: ReplicaMessage): Promise<void> {
  let name = '';
  try {
    await db.transaction().execute(async (transaction) => {
      name = await announce(state, transaction, message);
    });
  } catch (error) {
    settle(state, name, false);
    throw error;
  }
  settle(state, name, true);
}

/**
 * Sends one after another; a failed message is retried before the next. Unlike the kit's `retry` it tries the rest of the queue once
 * also while it ends.
 */
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
    let lastMessage = '';
    for (let next = queue[0]; next !== undefined; next = queue[0]) {
      try {
        await send(next);
        queue.shift();
      } catch (error) {
        const message = describeError(error);
        if (message !== lastMessage)
          logger.event('unexpected_error', { where: 'notifying the other replicas', message });
        lastMessage = message;
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

/** PostgreSQL limits a notification to 7,999 bytes (its documentation, NOTIFY); the rest is for the header. */
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
  /** @returns the whole text with its last piece; null before, and for pieces whose beginning was lost. */
  add(part: string): Joined | null;
  /** Drops incomplete texts: their rest is lost. */
  clear(): void;
};

/** Reassembles notifications. Those of one transaction arrive in order and without others between them. */
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

/** Events emitted here reach every replica in the same order. `reports` and `status` stay here: each replica makes its own. */
export function shareEvents(local: DeviceEvents, { publish }: Pick<FanOut, 'publish'>): DeviceEvents {
  return {
    subscribe: local.subscribe,
    emit: (event) => {
      if (event.kind === 'reports' || event.kind === 'status') local.emit(event);
      else publish({ kind: 'event', event });
    },
  };
}
