import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import {
  payloadSchemas,
  type DeviceEventMessage,
  type DeviceState,
  type Handshake,
  type HandshakeAck,
  type Heartbeat,
} from '@station/protocol/device-messages';
import {
  deviceTopic,
  maxPayloadBytes,
  parseDeviceTopic,
  type DeviceTopic,
  type DeviceTopicEnd,
} from '@station/protocol/topics';
import { Compile } from 'typebox/compile';
import type { DeviceDirectory, KnownDevice } from './device-directory.ts';
import type { DeviceReport } from '../core/device-events.ts';
import type { ReportWriter, SetAside } from './report-writer.ts';
import type { BackendLogger } from '@station/kit/logger';
import { findUnstorable, mayBeUnstorable } from '../core/storable-text.ts';
import type { AvailabilityKeeper } from './availability-keeper.ts';
import type { DroppedMessages, DropReason } from './dropped-messages.ts';
import type { IncomingMessage } from './broker-link.ts';

export type Bridge = {
  /**
   * Takes a message of a device. Resolves when the broker may be told that it arrived: what is good is on disk then, what is not was dropped.
   * Messages that are written together are given the same promise. Never rejects; while nothing can be written it stays unresolved.
   */
  receive(message: IncomingMessage): Promise<void>;
};

export type BridgeParts = {
  stationId: string;
  directory: DeviceDirectory;
  writer: Pick<ReportWriter, 'write'>;
  keeper: Pick<AvailabilityKeeper, 'heard' | 'status'>;
  /** The broker published the last will of a device, so long ago or later. */
  will: (deviceId: string, ageMs: number) => void;
  dropped: DroppedMessages;
  /** Hands a message for a device to the broker. */
  publish: (topic: string, payload: string) => Promise<void>;
  clock: Clock;
  logger: BackendLogger;
  /** Aborts when the backend ends: what could not be written then stays with the broker. */
  signal: AbortSignal;
};

const retryMs = 1_000;

/** Of whatever needs no writing. */
const done = Promise.resolve();

const checks = {
  handshake: Compile(payloadSchemas.handshake),
  state: Compile(payloadSchemas.state),
  event: Compile(payloadSchemas.event),
  heartbeat: Compile(payloadSchemas.heartbeat),
};

/** From the broker's messages to reports on disk (contracts, section 8). */
export function createBridge(parts: BridgeParts): Bridge {
  const { stationId, keeper, dropped, clock } = parts;
  const write = createCountedWrite(parts);
  const findDevice = createDeviceFinder(parts);
  const differing = createTypeCheck(parts.logger);

  const acknowledge = (externalId: string, status: HandshakeAck['status']): void => {
    const topic = deviceTopic(stationId, externalId, 'handshake/ack');
    // The device asks again when it hears nothing.
    parts.publish(topic, JSON.stringify({ status })).catch(() => undefined);
  };

  const take = (device: KnownDevice, end: DeviceTopicEnd, body: unknown, message: IncomingMessage): Promise<void> => {
    const { topic, saidAt } = message;
    const at = clock.now();
    if (end === 'heartbeat' && (body as Heartbeat).status === 'offline') {
      parts.will(device.id, at - (saidAt ?? at));
      return done;
    }
    keeper.heard(device.id);
    const report = reportOf(end, body, { deviceId: device.id, at, saidAt });
    // Nearly every message is this; what it costs limits how many a second are taken.
    if (report !== null && end !== 'handshake' && !isNews(end, device.id)) return write(report, topic);
    const reports = report === null ? [] : [report];
    if (isNews(end, device.id)) reports.push({ kind: 'status', deviceId: device.id, at, status: 'online' });
    if (end === 'handshake') reports.push(...differing(device, (body as Handshake).type, at));
    // Handed over in one turn, so written in one transaction.
    const written = Promise.all(reports.map((one) => write(one, topic)));
    return written.then(() => {
      if (end === 'handshake') acknowledge(device.externalId, 'ok');
    });
  };
  const isNews = (end: DeviceTopicEnd, deviceId: string): boolean =>
    end === 'heartbeat' || keeper.status(deviceId) !== 'online';

  const drop = (reason: DropReason, topic: string): Promise<void> => {
    dropped.drop(reason, topic);
    return done;
  };
  const takeOf = (
    device: KnownDevice | null,
    { externalId, end }: DeviceTopic,
    body: unknown,
    from: IncomingMessage,
  ) => {
    if (device !== null) return take(device, end, body, from);
    if (end === 'handshake') acknowledge(externalId, 'unknown_device');
    return drop('unknown_device', from.topic);
  };

  return {
    receive: (message) => {
      const { topic, payload } = message;
      const parsed = parseDeviceTopic(topic);
      if (parsed === null) return drop('bad_topic', topic);
      if (parsed.stationId !== stationId) return drop('foreign_station', topic);
      if (payload.length > maxPayloadBytes) return drop('too_large', topic);
      const body = readBody(parsed.end, payload);
      if (body === undefined) return drop('bad_shape', topic);
      const known = findDevice(parsed.externalId);
      if (!(known instanceof Promise)) return takeOf(known, parsed, body, message);
      return known.then((device) => takeOf(device, parsed, body, message));
    },
  };
}

/** Undefined when it has not the shape. */
function readBody(end: DeviceTopicEnd, payload: Buffer): unknown {
  try {
    const text = payload.toString('utf8');
    const body: unknown = JSON.parse(text);
    // Else it would fail at the database again and again, and never be acknowledged.
    if (mayBeUnstorable(text) && findUnstorable(body) !== null) return undefined;
    return checks[end].Check(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

type Origin = { deviceId: string; at: number; saidAt: number | undefined };

/** Null: it says no more than that the device is there. */
function reportOf(end: DeviceTopicEnd, body: unknown, { deviceId, at, saidAt }: Origin): DeviceReport | null {
  switch (end) {
    case 'state': {
      const { state } = body as DeviceState;
      return { kind: 'state', deviceId, at, state, ...(saidAt === undefined ? {} : { saidAt }) };
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
 * Says that a device takes itself for another type than the station does, once for each type that it tells. The record stays: commands are
 * checked against what the device was added as, and whoever reads of it decides which of the two is wrong.
 */
function createTypeCheck(
  logger: BackendLogger,
): (device: KnownDevice, reportedType: string, at: number) => DeviceReport[] {
  const told = new Map<string, string>();
  return ({ id: deviceId, externalId, type }, reportedType, at) => {
    if (reportedType === type) told.delete(deviceId);
    if (reportedType === type || told.get(deviceId) === reportedType) return [];
    told.set(deviceId, reportedType);
    logger.event('device_type_differs', { externalId, type, reportedType });
    const data = { action: 'type_differs', type, reportedType };
    return [{ kind: 'event', deviceId, at, eventKind: 'station_event', data }];
  };
}

/**
 * Finds whose message it is, at once when the directory knows it. Asks until the database answers: "unknown" must be known, or a device would
 * lose what it said. Who comes while a device is asked for waits for the same answer, so that what it said stays in order.
 */
function createDeviceFinder(parts: BridgeParts): DeviceDirectory['find'] {
  const { directory, logger } = parts;
  const asked = new Map<string, Promise<KnownDevice | null>>();
  const insist = async (externalId: string, first = directory.find(externalId)): Promise<KnownDevice | null> => {
    for (let asking = first; ; asking = directory.find(externalId)) {
      try {
        return await asking;
      } catch (error) {
        logger.event('unexpected_error', { where: 'looking up a device', message: describeError(error) });
        await pause(parts);
      }
    }
  };
  return (externalId) => {
    const waiting = asked.get(externalId);
    // It may have been added since that was asked.
    if (waiting !== undefined) return waiting.then((device) => device ?? insist(externalId));
    const found = directory.find(externalId);
    if (!(found instanceof Promise)) return found;
    const asking = insist(externalId, found).finally(() => asked.delete(externalId));
    asked.set(externalId, asking);
    return asking;
  };
}

/** Counts what the writer sets aside. Reports that are written together share a promise, as the writer's do. */
function createCountedWrite({ writer, dropped }: BridgeParts): (report: DeviceReport, topic: string) => Promise<void> {
  type Writing = { writing: Promise<SetAside>; reports: DeviceReport[]; topics: string[]; done: Promise<void> };
  let last: Writing | null = null;
  const finish = async (writing: Promise<SetAside>, reports: DeviceReport[], topics: string[]): Promise<void> => {
    const setAside = await writing;
    if (last?.writing === writing) last = null;
    if (setAside.size === 0) return;
    for (const [index, report] of reports.entries()) {
      if (setAside.has(report)) dropped.drop('not_written', topics[index]!);
    }
  };
  return (report, topic) => {
    const writing = writer.write(report);
    if (last?.writing !== writing) {
      const [reports, topics]: [DeviceReport[], string[]] = [[], []];
      last = { writing, reports, topics, done: finish(writing, reports, topics) };
    }
    last.reports.push(report);
    last.topics.push(topic);
    return last.done;
  };
}

/** Does not return once the backend ends. */
async function pause({ clock, signal }: BridgeParts): Promise<void> {
  try {
    await clock.sleep(retryMs, signal);
  } catch {
    await new Promise(() => undefined);
  }
}
