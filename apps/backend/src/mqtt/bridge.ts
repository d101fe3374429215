import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import {
  type DeviceEventMessage,
  type DeviceState,
  type Handshake,
  type HandshakeAck,
  type Heartbeat,
} from '@station/protocol/device-messages';
import { deviceTopic, type DeviceTopic, type DeviceTopicEnd, parseDeviceTopic } from '@station/protocol/topics';
import type { ForeignDevices } from '../core/foreign-devices-port.ts';
import type { DeviceTypeRegistry } from '../core/type-registry.ts';
import type { DeviceReport } from '../core/device-events.ts';
import type { AvailabilityKeeper } from './availability-keeper.ts';
import type { IncomingMessage } from './broker-link.ts';
import type { DeviceDirectory, KnownDevice } from './device-directory.ts';
import type { DeviceFaults } from './device-faults.ts';
import type { DroppedMessages, DropReason } from './dropped-messages.ts';
import type { ForeignStations } from './foreign-stations.ts';
import type { HistoryRate } from './history-rate.ts';
import type { UnregisteredDevices } from './ports.ts';
import { type ReadPayload, readPayload } from './read-payload.ts';
import type { Reconnects } from './reconnects.ts';
import type { ReportWriter, RejectedReports } from './report-writer.ts';
import { createTypeReader } from './type-reader.ts';

type Bridge = {
  /**
   * Handles a message of a device. Resolves when it may be acknowledged: a valid message is on disk, an invalid one was dropped.
   * Messages of one batch get the same promise. Never rejects; stays unresolved while the database cannot be written.
   */
  receive(message: IncomingMessage): Promise<void>;
};

type BridgeParts = {
  stationId: string;
  directory: DeviceDirectory;
  types: DeviceTypeRegistry;
  unregistered: Pick<UnregisteredDevices, 'receive'>;
  foreign: Pick<ForeignDevices, 'isForeign'>;
  foreignStations: Pick<ForeignStations, 'seen'>;
  writer: Pick<ReportWriter, 'write'>;
  keeper: Pick<AvailabilityKeeper, 'received' | 'status'>;
  faults: Pick<DeviceFaults, 'received'>;
  history: Pick<HistoryRate, 'limited'>;
  reconnects: Pick<Reconnects, 'seen'>;
  /** The broker published the last will of a device, at most `ageMs` ago. */
  will: (device: KnownDevice, ageMs: number) => void;
  dropped: DroppedMessages;
  /** Hands a message for a device to the broker, which drops it after `expiresInMs`. */
  publish: (topic: string, payload: string, expiresInMs: number) => Promise<void>;
  clock: Clock;
  logger: BackendLogger;
  /** Aborts when the backend ends: unwritten messages then stay at the broker. */
  signal: AbortSignal;
};

const retryMs = 1_000;
/** Larger messages are written at once, so that little memory waits. */
const maxWaitingBytes = 4_096;
/** How long the broker keeps a handshake answer for a device that went offline again. */
export const ackExpiresInMs = 60_000;
/** An answer to a removed device must not wait until the device was perhaps added again. */
const removalExpiresInMs = 10_000;

/** For messages that write nothing. */
const done = Promise.resolve();

/** What handles the messages of devices. */
type Context = BridgeParts & {
  write: ReturnType<typeof createCountedWrite>;
  findDevice: DeviceDirectory['find'];
  typeReader: ReturnType<typeof createTypeReader>;
};

/** From the broker's messages to reports on disk (contracts, section 8). */
export function createBridge(parts: BridgeParts): Bridge {
  const context: Context = {
    ...parts,
    write: createCountedWrite(parts),
    findDevice: createDeviceFinder(parts),
    typeReader: createTypeReader(parts),
  };
  const { stationId, dropped } = parts;
  const { findDevice } = context;
  const takeUnregistered = createUnregisteredOrder(context);
  const takeOf = (device: KnownDevice | null, parsed: DeviceTopic, read: ReadPayload, from: IncomingMessage) => {
    if (read.fault !== null) dropped.drop(read.fault, from.topic, device?.id);
    return device === null ? takeUnregistered(parsed, read, from) : take(context, device, parsed.end, read, from);
  };
  return {
    receive: (message) => {
      const { topic, payload } = message;
      const parsed = parseDeviceTopic(topic);
      if (parsed === null) return drop(context, 'bad_topic', topic);
      if (parsed.stationId !== stationId) {
        parts.foreignStations.seen(parsed);
        return drop(context, 'foreign_station', topic);
      }
      // It removes what is retained under its topic (MQTT 3.1.1, section 3.3.1.3), also of a device that is gone: it says nothing.
      if (payload.length === 0) return done;
      const read = readPayload(parsed.end, payload);
      const known = findDevice(parsed.externalId);
      if (!(known instanceof Promise)) return takeOf(known, parsed, read, message);
      return known.then((device) => takeOf(device, parsed, read, message));
    },
  };
}

function take(
  context: Context,
  device: KnownDevice,
  end: DeviceTopicEnd,
  sent: ReadPayload,
  message: IncomingMessage,
): Promise<void> {
  const { keeper, faults, typeReader, write, clock } = context;
  const described = typeReader.describing(device.id);
  if (described !== undefined) return described.then(() => take(context, device, end, sent, message));
  const { topic, sentAt } = message;
  const read = end === 'state' ? typeReader.readState(device, sent, topic) : sent;
  const { body } = read;
  const at = clock.now();
  if (end === 'heartbeat' && (body as Heartbeat | undefined)?.status === 'offline') {
    context.will(device, at - (sentAt ?? at));
    return done;
  }
  keeper.received(device.id);
  const mayWait = message.mayWait === true && message.payload.length <= maxWaitingBytes;
  const whole = body === undefined ? null : reportOf(end, body, { deviceId: device.id, at, sentAt, mayWait });
  const report = whole && context.history.limited(whole, message.payload.length);
  const changed = faults.received(device.id, end, read.fault, at);
  const isOnlineReport = (): boolean => end === 'heartbeat' || keeper.status(device.id) !== 'online';
  // The fast path for nearly every message: its cost limits the message rate.
  if (report !== null && changed === null && end !== 'handshake' && !isOnlineReport()) return write(report, topic);
  const reports = [report, changed].filter((one) => one !== null);
  if (isOnlineReport()) reports.push({ kind: 'status', deviceId: device.id, at, status: 'online' });
  const isHandshake = end === 'handshake' && body !== undefined;
  if (isHandshake) {
    reports.push(...typeReader.differing(device, (body as Handshake).type, at));
    typeReader.describe(device, body as Handshake);
    context.reconnects.seen(device.externalId, 'handshake');
  }
  // Passed to the writer in one turn, so written in one transaction.
  const written = Promise.all(reports.map((one) => write(one, topic)));
  return written.then(() => {
    if (isHandshake) acknowledge(context, device.externalId, 'ok');
  });
}

function acknowledge(context: Context, externalId: string, status: HandshakeAck['status']): void {
  const { stationId, foreign, publish } = context;
  // Nobody would read it.
  if (foreign.isForeign(externalId)) return;
  const topic = deviceTopic(stationId, externalId, 'handshake/ack');
  const expiresInMs = status === 'ok' ? ackExpiresInMs : removalExpiresInMs;
  // Without an answer the device repeats its handshake.
  publish(topic, JSON.stringify({ status }), expiresInMs).catch(() => undefined);
}

function drop({ dropped }: Context, reason: DropReason, topic: string): Promise<void> {
  dropped.drop(reason, topic);
  return done;
}

/** What a device sends right after the handshake that adds it comes from a device of the station. */
function createUnregisteredOrder(context: Context) {
  const { findDevice } = context;
  /** The latest handshake of each unregistered device, while it is handled. */
  const handshakes = new Map<string, Promise<void>>();
  return (parsed: DeviceTopic, read: ReadPayload, from: IncomingMessage): Promise<void> => {
    const { externalId, end } = parsed;
    const takeNow = () => takeUnregistered(context, parsed, read, from);
    const takeLater = async (): Promise<void> => {
      const device = await findDevice(externalId);
      return device === null ? takeNow() : take(context, device, end, read, from);
    };
    const taken = handshakes.get(externalId)?.then(takeLater) ?? takeNow();
    if (end !== 'handshake') return taken;
    const handled = taken.finally(() => {
      if (handshakes.get(externalId) === handled) handshakes.delete(externalId);
    });
    handshakes.set(externalId, handled);
    return handled;
  };
}

/** Only a device that was removed here is answered (contracts, section 8). */
async function takeUnregistered(
  context: Context,
  { externalId, end }: DeviceTopic,
  read: ReadPayload,
  from: IncomingMessage,
): Promise<void> {
  const { body } = read;
  if (body === undefined) return;
  const answer = await context.unregistered.receive({ externalId, end, body });
  if (answer.kind === 'added') {
    const device = await context.findDevice(externalId);
    if (device !== null) return take(context, device, end, read, from);
  }
  if (answer.kind === 'removed') {
    if (answer.isHandshake) acknowledge(context, externalId, 'unknown_device');
    const topic = deviceTopic(context.stationId, externalId, 'command');
    context.publish(topic, JSON.stringify(answer.command), removalExpiresInMs).catch(() => undefined);
  }
  return drop(context, 'unknown_device', from.topic);
}

type Origin = { deviceId: string; at: number; sentAt: number | undefined; mayWait: boolean };

/** Null: the message only shows that the device is online. */
function reportOf(end: DeviceTopicEnd, body: unknown, { deviceId, at, sentAt, mayWait }: Origin): DeviceReport | null {
  switch (end) {
    case 'state': {
      const { state } = body as DeviceState;
      const report = { kind: 'state', deviceId, at, state } as const;
      // The fast path for nearly every message.
      if (sentAt === undefined && !mayWait) return report;
      return { ...report, ...(sentAt !== undefined && { sentAt }), ...(mayWait && { mayWait }) };
    }
    case 'event': {
      const { event: eventKind, data } = body as DeviceEventMessage;
      return { kind: 'event', deviceId, at, eventKind, data };
    }
    case 'handshake': {
      const { firmwareVersion, chip, kit_tag: kitTag = null } = body as Handshake;
      return { kind: 'handshake', deviceId, at, firmwareVersion, chip, kitTag };
    }
    case 'heartbeat':
      return null;
  }
}

/**
 * Finds the device of a message, synchronously when the directory knows it. Retries until the database answers: a wrong "unknown" would
 * lose a message. Messages of a device that is being looked up wait for the same answer, so that they stay in order.
 */
function createDeviceFinder(parts: BridgeParts): DeviceDirectory['find'] {
  const { directory, logger } = parts;
  const asked = new Map<string, Promise<KnownDevice | null>>();
  const findWithRetries = async (
    externalId: string,
    first = directory.find(externalId),
  ): Promise<KnownDevice | null> => {
    for (let asking = first; ; asking = directory.find(externalId)) {
      try {
        return await asking;
      } catch (error) {
        logger.failed('looking up a device', error);
        await pause(parts);
      }
    }
  };
  return (externalId) => {
    const waiting = asked.get(externalId);
    // The device may have been added since that query.
    if (waiting !== undefined) return waiting.then((device) => device ?? findWithRetries(externalId));
    const found = directory.find(externalId);
    if (!(found instanceof Promise)) return found;
    const asking = findWithRetries(externalId, found).finally(() => asked.delete(externalId));
    asked.set(externalId, asking);
    return asking;
  };
}

/** Counts the reports that the writer rejects. Reports of one batch share a promise, as in the writer. */
function createCountedWrite({ writer, dropped }: BridgeParts): (report: DeviceReport, topic: string) => Promise<void> {
  type Writing = { writing: Promise<RejectedReports>; reports: DeviceReport[]; topics: string[]; done: Promise<void> };
  let last: Writing | null = null;
  const finish = async (
    writing: Promise<RejectedReports>,
    reports: DeviceReport[],
    topics: string[],
  ): Promise<void> => {
    const rejected = await writing;
    if (last?.writing === writing) last = null;
    if (rejected.size === 0) return;
    for (const [index, report] of reports.entries()) {
      if (rejected.has(report)) dropped.drop('not_written', topics[index]!);
    }
  };
  return (report, topic) => {
    const writing = writer.write(report);
    if (last?.writing !== writing) {
      const reports: DeviceReport[] = [];
      const topics: string[] = [];
      last = { writing, reports, topics, done: finish(writing, reports, topics) };
    }
    last.reports.push(report);
    last.topics.push(topic);
    return last.done;
  };
}

/** Never resolves once the backend ends: the message then stays at the broker. The kit's `retry` would reject. */
async function pause({ clock, signal }: BridgeParts): Promise<void> {
  try {
    await clock.sleep(retryMs, signal);
  } catch {
    await new Promise(() => undefined);
  }
}
