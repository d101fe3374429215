import { isoTime, type Clock } from '@station/kit/clock';
import { nextTurn } from '@station/kit/timers';
import { createWaker, type Waker } from '@station/kit/wakeable';
import type { EventChannel } from '@station/protocol/cloud';
import type { CloudNotification } from '@station/protocol/cloud-rpc';
import { readState } from '../core/device-state.ts';
import type { LoggedReports } from '../store/logged-reports.ts';
import type { Database } from '../store/schema.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { DeadLetterStore } from './dead-letter-store.ts';
import type { OutboxMessage, OutboxStore } from './outbox-store.ts';

/** The part of an authenticated connection that sending needs. */
export type Delivering = {
  /** @param done called when the kernel accepted it. @returns false when it is larger than a frame may be; then it is not sent. */
  notify(method: CloudNotification, params: Record<string, unknown>, done?: () => void): boolean;
  bufferedBytes(): number;
  /** The cloud supports acknowledgements. */
  acks: boolean;
  /** Ends an unusable connection. */
  giveUp(reason: string): void;
};

export type Delivery = AsyncDisposable & {
  begin(connection: Delivering): void;
  /** @param code of the cloud's closing frame; null for any other loss. */
  end(code: number | null): void;
  /** There may be more to send. */
  wake(): void;
  /** The cloud acknowledged all messages up to this number. */
  acknowledge(seq: number): void;
  /** The state of a device changed; the latest is sent as soon as there is room. */
  stateChanged(deviceId: string): void;
  /** A ping was sent; its pong proves that all earlier messages arrived. */
  pinged(): void;
  ponged(): void;
};

export type DeliveryParts = {
  db: Database;
  /** What is newer than the tables; unset: nothing. */
  logged?: Pick<LoggedReports, 'over' | 'settle'>;
  outbox: Pick<OutboxStore, 'read' | 'remove'>;
  deadLetters: Pick<DeadLetterStore, 'add'>;
  isActive(channel: EventChannel): boolean;
  statesSentAt(): Promise<number>;
  setStatesSentAt(at: number): Promise<void>;
  /** The cloud has acknowledged all messages. */
  onDrained?(): void;
  clock: Clock;
  logger: BackendLogger;
};

/** Maximum number of unacknowledged messages. */
const windowSize = 2_000;
const readAtOnce = 250;
/** Above this backlog the outbox waits: live states must not queue behind old events. */
const outboxBacklogBytes = 256 * 1024;
/** Above this backlog only the latest state of each device is kept (as in contracts, section 10). */
const stateBacklogBytes = 1024 * 1024;
/** Finds messages of other replicas, and messages without a wake-up. */
const checkEveryMs = 1_000;
/** Another replica may commit a smaller number after larger ones were read. */
const rereadEveryMs = 2_000;
/** A cloud that supports acknowledgements but sends none counts as offline. */
const ackPatienceMs = 60_000;
/** States may reach the disk a little later than their time, so this margin is sent again. */
const stateMarginMs = 60_000;
/**
 * Close codes that point to the sent data (RFC 6455, section 7.4.1): protocol error, unacceptable data, bad encoding, policy, too big,
 * server error. A broken link does not point to any message.
 */
const blamingCodes: ReadonlySet<number | null> = new Set([1002, 1003, 1007, 1008, 1009, 1011]);
/** A message that was sent alone and failed this often is a dead letter: it must not block all others. */
const maxFailuresAlone = 2;

const methodOf: Readonly<Record<EventChannel, CloudNotification>> = {
  state: 'device.stateChanged',
  status: 'device.statusChanged',
  events: 'device.event',
  commands: 'device.commandSent',
  lifecycle: 'device.added',
  automations: 'automation.runCompleted',
  firmware: 'firmware.progress',
  system: 'station.event',
};

/** Wakes a delivery when it ends. */
const neverEnding = new AbortController().signal;

type State = {
  parts: DeliveryParts;
  connection: Delivering | null;
  running: Promise<void>;
  waker: Waker;
  /** Unacknowledged messages of this connection, in the order of sending. */
  inFlight: number[];
  /** Acknowledged or unwanted, but still in the outbox. */
  arrived: number[];
  readUpTo: number;
  rereadAt: number;
  progressAt: number;
  /** Devices whose state must be sent. */
  dirty: Set<string>;
  /** Times of states: the latest sent, the latest sent before the last ping, the latest known to have arrived. */
  statesAt: { latest: number; pinged: number; known: number };
  /** The cloud closed the link at this message. Until it arrives nothing else is sent, so that nothing else can be the cause. */
  suspect: { seq: number; failuresAlone: number } | null;
};

/**
 * Sends the outbox to the cloud in order, with at most `windowSize` unacknowledged messages, and in parallel the latest state of each
 * device. The next connection resends what was not acknowledged.
 */
export function createDelivery(parts: DeliveryParts): Delivery {
  const state: State = {
    parts,
    connection: null,
    running: Promise.resolve(),
    waker: createWaker(parts.clock),
    inFlight: [],
    arrived: [],
    readUpTo: 0,
    rereadAt: 0,
    progressAt: 0,
    dirty: new Set(),
    statesAt: { latest: 0, pinged: 0, known: 0 },
    suspect: null,
  };
  return {
    begin: (connection) => begin(state, connection),
    end: (code) => end(state, code),
    wake: () => wake(state),
    acknowledge: (seq) => acknowledge(state, seq),
    stateChanged: (deviceId) => {
      state.dirty.add(deviceId);
      if (state.connection !== null) wake(state);
    },
    pinged: () => {
      state.statesAt.pinged = state.statesAt.latest;
    },
    ponged: () => noteStatesArrived(state),
    [Symbol.asyncDispose]: async () => {
      state.connection = null;
      wake(state);
      await state.running;
      if (state.arrived.length > 0) await parts.outbox.remove(state.arrived).catch(() => undefined);
    },
  };
}

const wake = (state: State): void => state.waker.wake();
const pause = (state: State) => state.waker.sleep(checkEveryMs, neverEnding);

function begin(state: State, connection: Delivering): void {
  const now = state.parts.clock.monotonic();
  Object.assign(state, { connection, readUpTo: 0, rereadAt: now, progressAt: now, inFlight: [] });
  state.running = state.running.then(() => deliver(state, connection));
}

function end(state: State, code: number | null): void {
  const deadLetter = blamingCodes.has(code) ? suspectOldest(state) : null;
  Object.assign(state, { connection: null, inFlight: [] } satisfies Partial<State>);
  wake(state);
  if (deadLetter === null) return;
  const reason = `The cloud closed the link with code ${code} each time it got it.`;
  state.running = state.running.then(() => addDeadLetter(state.parts, deadLetter, reason));
}

/** Suspects the oldest message in flight. @returns its number when it is a dead letter now. */
function suspectOldest(state: State): number | null {
  const [seq = null] = state.inFlight;
  if (seq === null) return null;
  const failuresAlone = state.suspect?.seq === seq ? state.suspect.failuresAlone + 1 : 0;
  const isDead = failuresAlone === maxFailuresAlone;
  state.suspect = isDead ? null : { seq, failuresAlone };
  return isDead ? seq : null;
}

/** Runs until the connection ends: sends states and outbox messages whenever there is room. */
async function deliver(state: State, to: Delivering): Promise<void> {
  const { parts } = state;
  let isBegun = false;
  while (state.connection === to) {
    try {
      if (!isBegun) await markStatesSince(state, await parts.statesSentAt());
      isBegun = true;
      if (state.suspect === null) await sendStates(state, to);
      await removeArrived(state);
      const didSomething = await sendSome(state, to);
      if (!didSomething) await pause(state);
      // Yields to other work, however much there is to send.
      else await nextTurn();
    } catch (error) {
      parts.logger.failed('sending to the cloud', error);
      await pause(state);
    }
    const isWaiting = state.connection === to && state.inFlight.length > 0;
    if (isWaiting && parts.clock.monotonic() - state.progressAt > ackPatienceMs) {
      to.giveUp('The cloud does not acknowledge what it gets.');
    }
  }
}

function acknowledge(state: State, seq: number): void {
  // By position, not by size: a replica may have committed a smaller number later.
  const position = state.inFlight.indexOf(seq);
  if (position < 0) return;
  state.arrived.push(...state.inFlight.splice(0, position + 1));
  state.progressAt = state.parts.clock.monotonic();
  state.suspect = null;
  wake(state);
}

async function removeArrived(state: State): Promise<void> {
  if (state.arrived.length === 0) return;
  const gone = state.arrived;
  state.arrived = [];
  await state.parts.outbox.remove(gone).catch((error: unknown) => {
    state.arrived.push(...gone);
    throw error;
  });
}

/** @returns false when there was nothing to send. */
async function sendSome(state: State, to: Delivering): Promise<boolean> {
  const window = state.suspect === null ? windowSize : 1;
  const room = Math.min(readAtOnce, window - state.inFlight.length);
  if (room <= 0 || to.bufferedBytes() >= outboxBacklogBytes) return false;
  const messages = await read(state, room);
  if (state.connection !== to) return true;
  if (messages.length === 0) {
    if (state.inFlight.length === 0) noteDrained(state);
    return false;
  }
  if (state.inFlight.length === 0) state.progressAt = state.parts.clock.monotonic();
  const tooLarge = messages.filter((message, index) => {
    state.readUpTo = Math.max(state.readUpTo, message.seq);
    return !send(state, to, message, index === messages.length - 1);
  });
  for (const { seq } of tooLarge) {
    await addDeadLetter(state.parts, seq, 'It is larger than a message to the cloud may be.');
  }
  return true;
}

function noteDrained(state: State): void {
  // The suspect was deleted with its device.
  state.suspect = null;
  state.parts.onDrained?.();
}

/** Reads in order. Sometimes it reads from the start and skips sent messages. */
async function read(state: State, limit: number): Promise<OutboxMessage[]> {
  const { outbox, clock } = state.parts;
  const nowMs = clock.monotonic();
  if (nowMs - state.rereadAt < rereadEveryMs) return outbox.read(state.readUpTo, limit);
  const messages = await outbox.read(0, limit, [...state.inFlight, ...state.arrived]);
  state.rereadAt = nowMs;
  return messages;
}

/** @param isLast the last message of a read: once it is sent there is room for more. @returns false when it does not fit into a frame. */
function send(state: State, to: Delivering, { seq, channel, params }: OutboxMessage, isLast: boolean): boolean {
  if (params === null || !state.parts.isActive(channel)) {
    state.arrived.push(seq);
    return true;
  }
  const { method, ...rest } = params as { method?: CloudNotification };
  state.inFlight.push(seq);
  const done = (): void => {
    if (!to.acks) acknowledge(state, seq);
    if (isLast) wake(state);
  };
  if (to.notify(method ?? methodOf[channel], { ...rest, seq }, done)) return true;
  state.inFlight.pop();
  return false;
}

async function addDeadLetter({ deadLetters, logger }: DeliveryParts, seq: number, reason: string): Promise<void> {
  try {
    await deadLetters.add(seq, reason);
    logger.event('cloud_dead_letter', { seq, reason });
  } catch (error) {
    logger.failed('keeping a dead letter of the cloud', error);
  }
}

type StateRow = { id: string; state: string; state_at: number | null };

async function sendStates(state: State, to: Delivering): Promise<void> {
  const { dirty, parts } = state;
  if (dirty.size === 0 || to.bufferedBytes() >= stateBacklogBytes) return;
  const ids = [...dirty].slice(0, readAtOnce);
  for (const id of ids) dirty.delete(id);
  if (!parts.isActive('state')) return;
  const putBack = (): void => ids.forEach((id) => dirty.add(id));
  const reading = parts.db.selectFrom('devices').select(['id', 'state', 'state_at']).where('id', 'in', ids);
  const rows = await reading.execute().catch((error: unknown) => {
    putBack();
    throw error;
  });
  if (state.connection !== to) return putBack();
  for (const row of parts.logged?.over(rows) ?? rows) sendState(state, to, row);
  if (dirty.size > 0) wake(state);
}

function sendState({ statesAt }: State, to: Delivering, row: StateRow): void {
  const { id: deviceId, state, state_at: at } = row;
  if (at === null) return;
  statesAt.latest = Math.max(statesAt.latest, at);
  to.notify('device.stateChanged', { deviceId, state: readState(state), at: isoTime(at) });
}

async function markStatesSince({ parts: { db, logged, clock }, dirty }: State, sentAt: number): Promise<void> {
  await logged?.settle();
  // After the clock was set back, new states have old times.
  const since = sentAt > clock.now() ? 0 : sentAt - stateMarginMs;
  for (const { id } of await db.selectFrom('devices').select('id').where('state_at', '>', since).execute()) {
    dirty.add(id);
  }
}

function noteStatesArrived({ parts, statesAt }: State): void {
  const { pinged } = statesAt;
  if (pinged <= statesAt.known) return;
  statesAt.known = pinged;
  parts.setStatesSentAt(pinged).catch((error: unknown) => {
    parts.logger.failed('noting what the cloud got', error);
  });
}
