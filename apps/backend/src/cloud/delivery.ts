import { isoTime, type Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { EventChannel } from '@station/protocol/cloud';
import type { CloudNotification } from '@station/protocol/cloud-rpc';
import { readState } from '../core/device-state.ts';
import type { Database } from '../store/schema.ts';
import type { BackendLogger } from '@station/kit/logger';
import type { OutboxMessage, OutboxStore } from './outbox-store.ts';
import { createPoisonWatch } from './dead-letter-decide.ts';

/** An authenticated connection, as far as sending needs it. */
export type Delivering = {
  /** @param done when it was handed to the kernel. @returns false when it is larger than a frame may be: then it is not sent. */
  notify(method: CloudNotification, params: Record<string, unknown>, done?: () => void): boolean;
  bufferedBytes(): number;
  /** The cloud promised to acknowledge. */
  acks: boolean;
  /** Ends the connection: it is of no use. */
  giveUp(reason: string): void;
};

export type Delivery = AsyncDisposable & {
  begin(connection: Delivering): void;
  /** @param code of the cloud's closing frame; null for any other loss. */
  end(code: number | null): void;
  /** There may be more to send. */
  wake(): void;
  /** Everything up to this number has arrived. @returns false when nobody was waiting for that. */
  acknowledge(seq: number): boolean;
  /** A device's state became different; the latest is sent, whenever there is room. */
  stateChanged(deviceId: string): void;
  /** A ping went out; what was sent before it has arrived when its pong comes. */
  pinged(): void;
  ponged(): void;
};

export type DeliveryParts = {
  db: Database;
  outbox: OutboxStore;
  isActive(channel: EventChannel): boolean;
  statesSentAt(): Promise<number>;
  setStatesSentAt(at: number): Promise<void>;
  /** The cloud has acknowledged all that waited. */
  onDrained?(): void;
  clock: Clock;
  logger: BackendLogger;
};

/** So many messages may wait for the cloud's acknowledgement. */
const windowSize = 2_000;
const readAtOnce = 250;
/** Above it nothing of the outbox goes out: what happens now is not to wait behind what happened long ago. */
const outboxBacklogBytes = 256 * 1024;
/** Contracts, section 10, and the same for the cloud: from here on only the latest state of each device is kept. */
const stateBacklogBytes = 1024 * 1024;
/** Another replica may have written; and whatever was missed is found. */
const lookEveryMs = 1_000;
/** What another replica began to write earlier, and committed later, has a smaller number than what was read since. */
const lookBackEveryMs = 2_000;
/** A cloud that promised to acknowledge and does not, is as good as away. */
const ackPatienceMs = 60_000;
/** States that were on disk a little later than their time says are sent once more. */
const stateMarginMs = 60_000;

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

/**
 * Brings to the cloud what it has not got yet: the outbox in order, at most `windowSize` ahead of its acknowledgements, and the latest state of
 * each device beside it. What is not acknowledged when the connection ends is sent again on the next one.
 */
export function createDelivery(parts: DeliveryParts): Delivery {
  const { outbox, clock, logger } = parts;
  let connection: Delivering | null = null;
  let running: Promise<void> = Promise.resolve();
  let nudge = Promise.withResolvers<void>();
  let inFlight: number[] = [];
  let arrived: number[] = [];
  let readUpTo = 0;
  let lookedBackAt = 0;
  let progressAt = 0;
  const dirty = new Set<string>();
  /** Devices whose state no frame can hold. */
  const oversize = new Set<string>();
  const sentStates = { latest: 0, pinged: 0, known: 0 };
  const poison = createPoisonWatch();

  const wake = (): void => nudge.resolve();
  const rest = async (): Promise<void> => {
    const waking = new AbortController();
    await Promise.race([nudge.promise, clock.sleep(lookEveryMs, waking.signal).catch(() => undefined)]);
    waking.abort();
    nudge = Promise.withResolvers();
  };

  const acknowledge = (seq: number): boolean => {
    // By position, not by size: a replica may have committed a smaller number later.
    const position = inFlight.indexOf(seq);
    if (position < 0) return false;
    arrived.push(...inFlight.splice(0, position + 1));
    progressAt = clock.monotonic();
    poison.took();
    wake();
    return true;
  };

  /** @param isLast of what was read: once it is handed over there is room for more. @returns false when no frame can hold it. */
  const send = (to: Delivering, { seq, channel, params }: OutboxMessage, isLast: boolean): boolean => {
    if (params === null || !parts.isActive(channel)) {
      arrived.push(seq);
      return true;
    }
    const { method, ...rest } = params as { method?: CloudNotification };
    inFlight.push(seq);
    const done = (): void => {
      if (!to.acks) acknowledge(seq);
      if (isLast) wake();
    };
    if (to.notify(method ?? methodOf[channel], { ...rest, seq }, done)) return true;
    inFlight.pop();
    return false;
  };

  /** What is to be tried in place of the one that is held: behind those that were tried, or the first one again. */
  const readOther = async (limit: number, held: number, triedUpTo: number): Promise<OutboxMessage[]> => {
    const others = await outbox.read(triedUpTo, limit, [...arrived, held]);
    return others.length > 0 || triedUpTo === 0 ? others : outbox.read(0, limit, [...arrived, held]);
  };

  /** In order; now and then, and while one is suspected, from the beginning, without what was sent already. */
  const read = async (limit: number): Promise<OutboxMessage[]> => {
    if (poison.isSuspecting()) {
      // Others were tried before their turn: what follows is read from the beginning, too.
      lookedBackAt = -Infinity;
      return outbox.read(0, limit, [...inFlight, ...arrived]);
    }
    const nowMs = clock.monotonic();
    if (nowMs - lookedBackAt < lookBackEveryMs) return outbox.read(readUpTo, limit);
    const messages = await outbox.read(0, limit, [...inFlight, ...arrived]);
    lookedBackAt = nowMs;
    return messages;
  };

  /** @returns false when there was nothing to do. */
  const sendSome = async (to: Delivering): Promise<boolean> => {
    if (arrived.length > 0) {
      const gone = arrived;
      arrived = [];
      await outbox.remove(gone).catch((error: unknown) => {
        arrived.push(...gone);
        throw error;
      });
    }
    const room = Math.min(readAtOnce, poison.window(windowSize) - inFlight.length);
    if (room <= 0 || to.bufferedBytes() >= outboxBacklogBytes) return false;
    const held = poison.held();
    const messages = await (held === null ? read(room) : readOther(room, held.seq, held.triedUpTo));
    if (connection !== to) return true;
    if (messages.length === 0 && held !== null) {
      poison.nothingElse();
      return true;
    }
    if (messages.length === 0) {
      if (inFlight.length === 0) {
        poison.drained();
        parts.onDrained?.();
      }
      return false;
    }
    if (inFlight.length === 0) progressAt = clock.monotonic();
    const tooLarge = messages.filter((message, index) => {
      readUpTo = Math.max(readUpTo, message.seq);
      return !send(to, message, index === messages.length - 1);
    });
    for (const { seq } of tooLarge) await setAside(seq, 'It is larger than a message to the cloud may be.');
    return true;
  };

  const sendStates = async (to: Delivering): Promise<void> => {
    if (dirty.size === 0 || to.bufferedBytes() >= stateBacklogBytes) return;
    const ids = [...dirty].slice(0, readAtOnce);
    for (const id of ids) dirty.delete(id);
    if (!parts.isActive('state')) return;
    const putBack = (): void => ids.forEach((id) => dirty.add(id));
    const states = await readStates(ids).catch((error: unknown) => {
      putBack();
      throw error;
    });
    if (connection !== to) return putBack();
    for (const state of states) sendState(to, state);
    if (dirty.size > 0) wake();
  };

  const readStates = (ids: readonly string[]) =>
    parts.db.selectFrom('devices').select(['id', 'state', 'state_at']).where('id', 'in', ids).execute();

  type State = { id: string; state: string; state_at: number | null };
  const sendState = (to: Delivering, { id: deviceId, state, state_at: at }: State): void => {
    if (at === null) return;
    sentStates.latest = Math.max(sentStates.latest, at);
    const params = { deviceId, state: readState(state), at: isoTime(at) };
    if (to.notify('device.stateChanged', params)) {
      oversize.delete(deviceId);
    } else if (!oversize.has(deviceId)) {
      oversize.add(deviceId);
      logger.event('cloud_state_too_large', { deviceId, bytes: Buffer.byteLength(state) });
    }
  };

  const allStatesSince = async (sentAt: number): Promise<void> => {
    // A clock that went back makes new states look old.
    const since = sentAt > clock.now() ? 0 : sentAt - stateMarginMs;
    const devices = parts.db.selectFrom('devices').select('id').where('state_at', '>', since);
    for (const { id } of await devices.execute()) dirty.add(id);
  };

  const run = async (to: Delivering): Promise<void> => {
    let isBegun = false;
    while (connection === to) {
      try {
        if (!isBegun) await allStatesSince(await parts.statesSentAt());
        isBegun = true;
        if (!poison.isSuspecting()) await sendStates(to);
        const didSomething = await sendSome(to);
        if (!didSomething) await rest();
        // Others are served in between, however much there is to send.
        else await new Promise<void>((resolve) => setImmediate(resolve));
      } catch (error) {
        logger.event('unexpected_error', { where: 'sending to the cloud', message: describeError(error) });
        await rest();
      }
      if (connection === to && inFlight.length > 0 && clock.monotonic() - progressAt > ackPatienceMs) {
        to.giveUp('The cloud does not acknowledge what it gets.');
      }
    }
  };

  const setAside = async (seq: number, reason: string): Promise<void> => {
    try {
      await outbox.setAside(seq, reason);
      logger.event('cloud_message_set_aside', { seq, reason });
    } catch (error) {
      logger.event('unexpected_error', { where: 'setting a message aside', message: describeError(error) });
    }
  };

  return {
    begin: (to) => {
      connection = to;
      readUpTo = 0;
      lookedBackAt = clock.monotonic();
      inFlight = [];
      progressAt = clock.monotonic();
      running = running.then(() => run(to));
    },
    end: (code) => {
      connection = null;
      const guilty = poison.lost(code, inFlight[0] ?? null);
      inFlight = [];
      wake();
      if (guilty === null) return;
      const reason = `The cloud closed the link with code ${code} each time it got it.`;
      running = running.then(() => setAside(guilty, reason));
    },
    wake,
    acknowledge,
    stateChanged: (deviceId) => {
      dirty.add(deviceId);
      if (connection !== null) wake();
    },
    pinged: () => {
      sentStates.pinged = sentStates.latest;
    },
    ponged: () => {
      const { pinged } = sentStates;
      if (pinged <= sentStates.known) return;
      sentStates.known = pinged;
      parts.setStatesSentAt(pinged).catch((error: unknown) => {
        logger.event('unexpected_error', { where: 'noting what the cloud got', message: describeError(error) });
      });
    },
    [Symbol.asyncDispose]: async () => {
      connection = null;
      wake();
      await running;
      if (arrived.length > 0) await outbox.remove(arrived).catch(() => undefined);
    },
  };
}
