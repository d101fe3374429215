import type { Clock } from '@station/kit/clock';
import { ownValue } from '@station/protocol/own-value';
import { maxGatewayPayloadBytes, maxPayloadBytes } from '@station/protocol/topics';
import type { DeviceMessage, ForeignReading, GatewayMessage } from '../core/foreign-devices-port.ts';
import type { Availability, DialectDevice, Publish, Said } from './dialect.ts';
import { announce, type AnnouncementParts, takeList, takeRemoval } from './gateway-announcements.ts';
import {
  gatewayOf,
  heartbeat,
  isOnline,
  type KnownDevice,
  type KnownGateway,
  maxDevices,
  nothing,
  ownDevice,
  placeOf,
  statusesOf,
} from './gateway-memory.ts';
import { isWithin } from './trees-decide.ts';

type ReaderParts = AnnouncementParts & {
  /** Asks a device of a gateway; the answer is a message. */
  ask: (question: Publish) => void;
  /** Reads it when nothing more came under this key for a moment. */
  soon: (key: string, read: () => ForeignReading) => void;
  /** Reads it when this key was not used for so long, milliseconds. */
  later: (key: string, quietForMs: number, read: () => ForeignReading) => void;
};

const maxQuestions = 16;
/** A question may be lost: it is asked again, when its reason comes again after this time. */
const askAgainMs = 60_000;

type GatewayReader = {
  /** From messages of gateways to messages of their devices. */
  read(message: GatewayMessage): ForeignReading;
  /** Values that end by themselves may have been left true by the run before. */
  endValues(gateway: KnownGateway): void;
};

export const createGatewayReader = (parts: ReaderParts): GatewayReader => ({
  read: (message) => readMessage(parts, message),
  endValues: (gateway) => {
    for (const device of parts.memory.devices.values())
      if (device.gatewayId === gateway.row.id) endLater(parts, gateway, device);
  },
});

function readMessage(parts: ReaderParts, { topic, payload, isRetained }: GatewayMessage): ForeignReading {
  const { memory, clock } = parts;
  const gateway = gatewayOf(memory, topic);
  if (gateway === null) return nothing;
  const { dialect, row } = gateway;
  const base = row.base_topic;
  const mostBytes = dialect.isList(base, topic) ? maxGatewayPayloadBytes : maxPayloadBytes;
  const isTooLarge = payload.length > mostBytes;
  const large = { name: topic, reason: 'too_large', detail: null } as const;
  gateway.notSupported.tell(`size ${topic}`, isTooLarge ? [large] : []);
  if (isTooLarge) return nothing;
  const text = payload.toString('utf8');
  const known = {
    memory: gateway.memory,
    at: (heard: string) => gateway.byTopic.get(heard) ?? [],
    find: (externalId: string) => ownDevice(memory, gateway, externalId),
  };
  const said = dialect.read({ ...placeOf(row), topic, text }, known);
  if (!isRetained && said.length > 0) heardNow(gateway, clock);
  return joined(said.map((one) => () => take(parts, gateway, one, { text, isRetained })));
}

function heardNow(gateway: KnownGateway, { now }: Pick<Clock, 'now'>): void {
  gateway.heardAt = now();
  if (gateway.dialect.isEachForItself) gateway.state = 'online';
}

/** What comes after one that is read in pieces is read when all of it was: groups are made of the devices of a list. */
function joined(reads: readonly (() => ForeignReading)[]): ForeignReading {
  const readings: ForeignReading[] = [];
  for (const [at, read] of reads.entries()) {
    const reading = read();
    readings.push(reading);
    const { next } = reading;
    if (next !== undefined) return { ...together(readings), next: () => joined([next, ...reads.slice(at + 1)]) };
  }
  return together(readings);
}

function together(readings: readonly ForeignReading[]): ForeignReading {
  const stored = readings.flatMap((reading) => reading.stored ?? []);
  return {
    messages: readings.flatMap(({ messages }) => messages),
    stored: stored.length === 0 ? null : Promise.all(stored).then(() => undefined),
  };
}

type Message = { text: string; isRetained: boolean };

function take(parts: ReaderParts, gateway: KnownGateway, said: Said, { text, isRetained }: Message): ForeignReading {
  switch (said.kind) {
    case 'list':
      return takeList(parts, gateway, text, said);
    case 'device':
      return announce(parts, gateway, [said.device]);
    case 'part':
      parts.soon(`${gateway.row.id} ${said.device}`, () => takeParts(parts, gateway, said.say()));
      return nothing;
    case 'removed':
      return takeRemoval(parts, gateway, said.device);
    case 'gateway':
      gateway.state = said.availability;
      // One message about all of its devices: they are told once of many that come in a row.
      parts.soon(`${gateway.row.id} state`, () => ({ messages: statusesOf(parts.memory, gateway), stored: null }));
      return nothing;
    case 'available':
      return takeAvailability(parts, gateway, said.device, said.availability);
    case 'report':
      return takeReport(parts, gateway, said, isRetained);
    case 'refused':
      gateway.notSupported.tell(said.source, said.entries);
      return nothing;
    case 'question':
      askOnce(parts, gateway, said);
      return nothing;
  }
}

/** What the broker kept is among it: it says nothing of who is there. */
const takeParts = (parts: ReaderParts, gateway: KnownGateway, said: readonly Said[]): ForeignReading =>
  parts.memory.gateways.get(gateway.row.id) === gateway
    ? joined(said.map((one) => () => take(parts, gateway, one, { text: '', isRetained: true })))
    : nothing;

function takeAvailability(
  parts: ReaderParts,
  gateway: KnownGateway,
  { externalId }: DialectDevice,
  availability: Availability,
): ForeignReading {
  const device = ownDevice(parts.memory, gateway, externalId);
  if (device === undefined) return nothing;
  device.availability = availability;
  if (availability === 'online') expectWord(parts, gateway, device);
  // It may be another one when it comes back.
  if (availability === 'offline') gateway.asked.delete(externalId);
  return { messages: [heartbeat(device, isOnline(gateway, device) ? 'online' : 'offline')], stored: null };
}

type Report = Omit<Extract<Said, { kind: 'report' }>, 'kind'>;

function takeReport(
  parts: ReaderParts,
  gateway: KnownGateway,
  { device: { externalId }, report }: Report,
  isRetained: boolean,
): ForeignReading {
  const device = ownDevice(parts.memory, gateway, externalId);
  if (device === undefined) return nothing;
  endLater(parts, gateway, device, report.state);
  const messages: DeviceMessage[] = [{ externalId, end: 'state', body: { state: report.state } }];
  if (isRetained) {
    // A state that the broker kept says nothing of whether the device is there, and presses no button again.
    if (!isOnline(gateway, device)) messages.push(heartbeat(device, 'offline'));
    return { messages, stored: null };
  }
  if (gateway.dialect.isEachForItself) device.availability = 'online';
  expectWord(parts, gateway, device);
  if (report.event !== null) {
    messages.push({ externalId, end: 'event', body: { event: 'user_event', data: { action: report.event } } });
  }
  return { messages, stored: null };
}

/** @param state what it said; left out: what it said before is not known. */
function endLater(
  parts: ReaderParts,
  gateway: KnownGateway,
  device: KnownDevice,
  state?: Report['report']['state'],
): void {
  for (const property of device.plan.properties) {
    const { key } = property;
    if (property.kind !== 'boolean' || property.offAfterMs === undefined) continue;
    if (state !== undefined && ownValue(state, key) !== true) continue;
    const ended = { device, report: { state: { [key]: false }, event: null } };
    later(parts, gateway, `end ${device.externalId} ${key}`, property.offAfterMs, () =>
      takeReport(parts, gateway, ended, true),
    );
  }
}

/** One that says nothing any more may be out of power, and nobody tells. */
function expectWord(parts: ReaderParts, gateway: KnownGateway, device: KnownDevice): void {
  const { silentAfterMs } = device.plan;
  if (silentAfterMs === undefined) return;
  later(parts, gateway, `silence ${device.externalId}`, silentAfterMs, () =>
    takeAvailability(parts, gateway, device, 'offline'),
  );
}

/** Unless the gateway was removed meanwhile. */
function later(
  { memory, later: readLater }: ReaderParts,
  gateway: KnownGateway,
  key: string,
  quietForMs: number,
  read: () => ForeignReading,
): void {
  const { id } = gateway.row;
  readLater(`${id} ${key}`, quietForMs, () => (memory.gateways.get(id) === gateway ? read() : nothing));
}

function askOnce(
  { ask, clock }: ReaderParts,
  { asked, trees }: KnownGateway,
  { device, reason, publish }: Extract<Said, { kind: 'question' }>,
): void {
  const known = asked.get(device) ?? new Map<string, number>();
  const askedAt = known.get(reason);
  const isDue = askedAt === undefined ? known.size < maxQuestions : clock.now() - askedAt >= askAgainMs;
  const hasRoom = asked.has(device) || asked.size < maxDevices;
  if (!isDue || !hasRoom || !isWithin(trees, publish.topic)) return;
  asked.set(device, known.set(reason, clock.now()));
  ask(publish);
}
