import { hash } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { Refusal } from '@station/protocol/gateways';
import { maxGatewayPayloadBytes, maxPayloadBytes } from '@station/protocol/topics';
import type { DeviceMessage, ForeignReading, GatewayMessage } from '../core/foreign-devices-port.ts';
import type {
  AnnouncedDevice,
  Availability,
  DevicePlan,
  Dialect,
  DialectDevice,
  Place,
  Publish,
  Said,
} from './dialect.ts';
import type { GatewayRow, GatewayStore, KeptDevice } from './gateway-store.ts';
import { createNotSupported, type NotSupportedList } from './not-supported.ts';
import { isWithin } from './trees-decide.ts';

/** A device that a gateway has announced, as it is known now. */
export type KnownDevice = KeptDevice & {
  availability: Availability | null;
  /** Of its words, in this run; null: it said nothing yet. */
  saidHash: string | null;
};

/** A gateway, as it is known now. */
export type KnownGateway = {
  row: GatewayRow;
  dialect: Dialect;
  trees: readonly string[];
  state: 'waiting' | Availability;
  heardAt: number | null;
  /** Of its latest lists that were taken, by what they are of; one that is missing is read in any case. */
  listHashes: Map<string, string>;
  notSupported: NotSupportedList;
  /** What its dialect remembers. */
  memory: unknown;
  /** Devices by what they are heard on. One that is gone is among them until another one has its topic. */
  byTopic: Map<string, KnownDevice[]>;
  /** When each question was asked, by device and reason. */
  asked: Map<string, Map<string, number>>;
};

export type GatewayMemory = {
  gateways: Map<string, KnownGateway>;
  /** By external id. */
  devices: Map<string, KnownDevice>;
  /** By their hash: a hundred devices of one model need the memory of one. */
  plans: Map<string, DevicePlan>;
};

type ReaderParts = {
  memory: GatewayMemory;
  store: Pick<GatewayStore, 'save'>;
  /** Runs one change of the database after the other; never rejects. */
  write: (work: () => Promise<void>) => Promise<void>;
  /** The gateway calls it so now, or says that it is of another type. */
  onChanged: (device: KnownDevice, before: string, words: AnnouncedDevice['words']) => Promise<void>;
  /** A person removed it at its gateway. */
  onRemoved: (device: KnownDevice) => Promise<void>;
  /** Asks a device of a gateway; the answer is a message. */
  ask: (question: Publish) => void;
  /** Reads it when nothing more came under this key for a moment. */
  soon: (key: string, read: () => ForeignReading) => void;
  clock: Pick<Clock, 'now'>;
};

const nothing: ForeignReading = { messages: [], stored: null };

const maxDevices = 500;
/** Devices that one message can be a report of. */
const maxSharing = 8;
const maxQuestions = 16;
/** A question may be lost: it is asked again, when its reason comes again after this time. */
const askAgainMs = 60_000;

export function newGateway(row: GatewayRow, dialect: Dialect): KnownGateway {
  return {
    row,
    dialect,
    trees: dialect.trees(placeOf(row)),
    state: 'waiting',
    heardAt: null,
    listHashes: new Map(),
    notSupported: createNotSupported(),
    memory: dialect.remember(),
    byTopic: new Map(),
    asked: new Map(),
  };
}

const placeOf = ({ base_topic: base, discovery_prefix: discovery }: GatewayRow): Place => ({ base, discovery });

/** From messages of gateways to messages of their devices. */
export function createGatewayReader(parts: ReaderParts): (message: GatewayMessage) => ForeignReading {
  const { memory, clock } = parts;
  return ({ topic, payload, isRetained }) => {
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
    return joined(said.map((one) => take(parts, gateway, one, { text, isRetained })));
  };
}

function gatewayOf({ gateways }: GatewayMemory, topic: string): KnownGateway | null {
  for (const gateway of gateways.values()) if (isWithin(gateway.trees, topic)) return gateway;
  return null;
}

function ownDevice({ devices }: GatewayMemory, { row }: KnownGateway, externalId: string): KnownDevice | undefined {
  const device = devices.get(externalId);
  return device?.gatewayId === row.id ? device : undefined;
}

function heardNow(gateway: KnownGateway, { now }: Pick<Clock, 'now'>): void {
  gateway.heardAt = now();
  if (gateway.dialect.isEachForItself) gateway.state = 'online';
}

function joined(readings: readonly ForeignReading[]): ForeignReading {
  const [first = nothing, ...rest] = readings;
  if (rest.length === 0) return first;
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
      return { messages: statusesOf(parts.memory, gateway), stored: null };
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
    ? joined(said.map((one) => take(parts, gateway, one, { text: '', isRetained: true })))
    : nothing;

const heartbeat = ({ externalId }: KnownDevice, status: Availability): DeviceMessage => ({
  externalId,
  end: 'heartbeat',
  body: { status },
});

/** Whether a device is online, by all that its gateway says. */
function isOnline({ state, dialect }: KnownGateway, device: KnownDevice): boolean {
  const isGatewayThere = dialect.isEachForItself || state !== 'offline';
  return isGatewayThere && device.availability !== 'offline' && device.goneAt === null;
}

/** The status of each of its devices. */
export const statusesOf = ({ devices }: GatewayMemory, gateway: KnownGateway): DeviceMessage[] =>
  [...devices.values()]
    .filter(({ gatewayId }) => gatewayId === gateway.row.id)
    .map((device) => heartbeat(device, isOnline(gateway, device) ? 'online' : 'offline'));

function takeAvailability(
  { memory }: ReaderParts,
  gateway: KnownGateway,
  { externalId }: DialectDevice,
  availability: Availability,
): ForeignReading {
  const device = ownDevice(memory, gateway, externalId);
  if (device === undefined) return nothing;
  device.availability = availability;
  // It may be another one when it comes back.
  if (availability === 'offline') gateway.asked.delete(externalId);
  return { messages: [heartbeat(device, isOnline(gateway, device) ? 'online' : 'offline')], stored: null };
}

function takeReport(
  { memory }: ReaderParts,
  gateway: KnownGateway,
  { device: { externalId }, report }: Extract<Said, { kind: 'report' }>,
  isRetained: boolean,
): ForeignReading {
  const device = ownDevice(memory, gateway, externalId);
  if (device === undefined) return nothing;
  const messages: DeviceMessage[] = [{ externalId, end: 'state', body: { state: report.state } }];
  if (isRetained) {
    // A state that the broker kept says nothing of whether the device is there, and presses no button again.
    if (!isOnline(gateway, device)) messages.push(heartbeat(device, 'offline'));
    return { messages, stored: null };
  }
  if (gateway.dialect.isEachForItself) device.availability = 'online';
  if (report.event !== null) {
    messages.push({ externalId, end: 'event', body: { event: 'user_event', data: { action: report.event } } });
  }
  return { messages, stored: null };
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

function takeRemoval(
  { memory, onRemoved }: ReaderParts,
  gateway: KnownGateway,
  { externalId }: DialectDevice,
): ForeignReading {
  const device = ownDevice(memory, gateway, externalId);
  if (device === undefined) return nothing;
  forgetTopics(gateway, device);
  gateway.asked.delete(externalId);
  gateway.listHashes.clear();
  memory.devices.delete(externalId);
  return { messages: [], stored: onRemoved(device) };
}

/** A list of all devices: new ones are added, those that are missing are gone. */
function takeList(
  parts: ReaderParts,
  gateway: KnownGateway,
  text: string,
  { of, devices: read }: Extract<Said, { kind: 'list' }>,
): ForeignReading {
  const listHash = hash('sha256', text);
  // It may be megabytes, and comes again with every connection.
  if (gateway.listHashes.get(of) === listHash) return nothing;
  const list = read();
  if (list === null) return nothing;
  gateway.listHashes.set(of, listHash);
  gateway.notSupported.tell(`list ${of}`, list.refused);
  const heard = new Set<string>();
  const devices = list.devices.filter(({ topics }) => {
    const isFree = topics.heard.every((topic) => !heard.has(topic));
    for (const topic of topics.heard) heard.add(topic);
    return isFree;
  });
  const missing = missingOf(parts, gateway, devices).filter(({ externalId }) => list.isOf(externalId));
  return announce(parts, gateway, devices, missing);
}

function missingOf(
  { memory }: ReaderParts,
  { row }: KnownGateway,
  announced: readonly AnnouncedDevice[],
): KnownDevice[] {
  const ids = new Set(announced.map(({ externalId }) => externalId));
  return [...memory.devices.values()].filter(
    ({ gatewayId, externalId, goneAt }) => gatewayId === row.id && goneAt === null && !ids.has(externalId),
  );
}

/** Takes what is new of these devices. @param missing they are gone. */
function announce(
  parts: ReaderParts,
  gateway: KnownGateway,
  announced: readonly AnnouncedDevice[],
  missing: readonly KnownDevice[] = [],
): ForeignReading {
  const { memory, store, write, clock } = parts;
  const messages: DeviceMessage[] = [];
  const changed: KnownDevice[] = [];
  const after: (() => Promise<void>)[] = [];
  for (const found of announced) {
    const known = memory.devices.get(found.externalId);
    const before = known?.name ?? found.name;
    const refusal = refusalOf(memory, gateway, known);
    const entry = refusal === null ? [] : [{ name: found.name, reason: refusal, detail: null }];
    gateway.notSupported.tell(`device ${found.externalId}`, entry);
    const device = refusal === null ? renewed(memory, gateway, found, known) : null;
    if (device === null) continue;
    changed.push(device);
    if (known !== undefined) after.push(() => parts.onChanged(device, before, found.words));
    messages.push({ externalId: device.externalId, end: 'handshake', body: found.words });
    if (!isOnline(gateway, device)) messages.push(heartbeat(device, 'offline'));
  }
  for (const device of missing) {
    device.goneAt = clock.now();
    changed.push(device);
    messages.push(heartbeat(device, 'offline'));
  }
  if (changed.length === 0) return nothing;
  const storing = async (): Promise<void> => {
    try {
      await store.save(changed);
    } catch (error) {
      // What is not on disk is taken again with the next announcement.
      for (const device of changed) device.saidHash = null;
      gateway.listHashes.clear();
      throw error;
    }
    for (const work of after) await work();
  };
  return { messages, stored: write(storing) };
}

/** A device of another gateway, which still has it, stays there. */
function refusalOf({ devices }: GatewayMemory, { row }: KnownGateway, known: KnownDevice | undefined): Refusal | null {
  if (known !== undefined) return known.gatewayId === row.id || known.goneAt !== null ? null : 'elsewhere';
  let count = 0;
  for (const { gatewayId } of devices.values()) if (gatewayId === row.id) count += 1;
  return count < maxDevices ? null : 'no_room';
}

/** Null: it has said all of it before. */
function renewed(
  memory: GatewayMemory,
  gateway: KnownGateway,
  { externalId, name, topics, words, plan }: AnnouncedDevice,
  known: KnownDevice | undefined,
): KnownDevice | null {
  const saidHash = hash('sha256', JSON.stringify([name, topics, words, plan]));
  if (known !== undefined && known.saidHash === saidHash && known.goneAt === null) return null;
  if (known !== undefined) forgetTopics(gateway, known);
  const fresh = { externalId, wasAdded: false, availability: null };
  const device = Object.assign(known ?? { ...fresh, gatewayId: '', name, topics, plan, goneAt: null, saidHash }, {
    gatewayId: gateway.row.id,
    name,
    topics,
    plan: shared(memory, plan),
    goneAt: null,
    saidHash,
  });
  memory.devices.set(externalId, device);
  hearOf(gateway, device);
  return device;
}

/** From now on a message on its topics is of this device. */
export function hearOf({ byTopic }: KnownGateway, device: KnownDevice): void {
  for (const topic of device.topics.heard) {
    const others = (byTopic.get(topic) ?? []).filter(({ goneAt }) => goneAt === null);
    if (others.length < maxSharing) byTopic.set(topic, [...others, device]);
  }
}

function forgetTopics({ byTopic }: KnownGateway, device: KnownDevice): void {
  for (const topic of device.topics.heard) {
    const others = (byTopic.get(topic) ?? []).filter((one) => one !== device);
    if (others.length > 0) byTopic.set(topic, others);
    else byTopic.delete(topic);
  }
}

/** Plans that no device has any more are forgotten when there are so many more of them. */
const spare = 64;

/** The plan of this text that is known already. */
export function shared({ plans, devices }: GatewayMemory, plan: DevicePlan): DevicePlan {
  const hashOf = (one: DevicePlan): string => hash('sha256', JSON.stringify(one));
  if (plans.size > devices.size + spare) {
    plans.clear();
    for (const device of devices.values()) plans.set(hashOf(device.plan), device.plan);
  }
  const key = hashOf(plan);
  const known = plans.get(key) ?? plan;
  plans.set(key, known);
  return known;
}
