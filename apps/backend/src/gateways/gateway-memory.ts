import { hash } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import { createTokenBucket, type TokenBucket } from '@station/kit/token-bucket';
import type { DeviceMessage, ForeignReading } from '../core/foreign-devices-port.ts';
import type { Availability, DevicePlan, Dialect, Place } from './dialect.ts';
import { dialectOf } from './dialects.ts';
import type { GatewayRow, GatewayStore, KeptDevice } from './gateway-store.ts';
import { createNotSupported, type NotSupportedList } from './not-supported.ts';
import { isWithin } from './trees-decide.ts';

/** What is known of gateways and of their devices: which message is of which. */

/** A device that a gateway has announced, as it is known now. */
export type KnownDevice = KeptDevice & {
  availability: Availability | null;
  /** Of its words, in this run; null: it said nothing yet. */
  saidHash: string | null;
  /** Its gateway had lost it before it last said something: that somebody removed it here is over. */
  isBack: boolean;
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
  /** How many devices it may announce that the station does not know. */
  fresh: TokenBucket;
};

export type GatewayMemory = {
  gateways: Map<string, KnownGateway>;
  /** By external id. */
  devices: Map<string, KnownDevice>;
  /** By their hash: a hundred devices of one model need the memory of one. */
  plans: Map<string, DevicePlan>;
};

export const nothing: ForeignReading = { messages: [], stored: null };

/** Devices of one gateway. */
export const maxDevices = 500;
/** A whole network that is replaced by another one, then one a minute: each that comes and goes is an event for people. */
const freshRate = { burst: 2 * maxDevices, perSecond: 1 / 60 } as const;
/** Devices that one message can be a report of. */
const maxSharing = 8;

export function newGateway(row: GatewayRow, dialect: Dialect, clock: Pick<Clock, 'monotonic'>): KnownGateway {
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
    fresh: createTokenBucket(freshRate, clock.monotonic),
  };
}

/** What is stored, at the start. */
export async function readMemory(
  store: Pick<GatewayStore, 'list' | 'devices'>,
  clock: Pick<Clock, 'monotonic'>,
): Promise<GatewayMemory> {
  const memory: GatewayMemory = { gateways: new Map(), devices: new Map(), plans: new Map() };
  for (const row of await store.list()) {
    const dialect = dialectOf(row.dialect);
    if (dialect !== undefined) memory.gateways.set(row.id, newGateway(row, dialect, clock));
  }
  const devices = await store.devices();
  // A device that is gone may have left its topics to another one.
  for (const kept of devices.toSorted((one, other) => Number(one.goneAt === null) - Number(other.goneAt === null))) {
    const gateway = memory.gateways.get(kept.gatewayId);
    if (gateway === undefined) continue;
    const device: KnownDevice = {
      ...kept,
      plan: shared(memory, kept.plan),
      availability: null,
      saidHash: null,
      isBack: false,
    };
    memory.devices.set(device.externalId, device);
    hearOf(gateway, device);
  }
  return memory;
}

export const placeOf = ({ base_topic: base, discovery_prefix: discovery }: GatewayRow): Place => ({ base, discovery });

export function gatewayOf({ gateways }: GatewayMemory, topic: string): KnownGateway | null {
  for (const gateway of gateways.values()) if (isWithin(gateway.trees, topic)) return gateway;
  return null;
}

export function ownDevice(
  { devices }: GatewayMemory,
  { row }: KnownGateway,
  externalId: string,
): KnownDevice | undefined {
  const device = devices.get(externalId);
  return device?.gatewayId === row.id ? device : undefined;
}

export const heartbeat = ({ externalId }: KnownDevice, status: Availability): DeviceMessage => ({
  externalId,
  end: 'heartbeat',
  body: { status },
});

/** Whether a device is online, by all that its gateway says. */
export function isOnline({ state, dialect }: KnownGateway, device: KnownDevice): boolean {
  const isGatewayThere = dialect.isEachForItself || state !== 'offline';
  return isGatewayThere && device.availability !== 'offline' && device.goneAt === null;
}

/** The status of each of its devices. */
export const statusesOf = ({ devices }: GatewayMemory, gateway: KnownGateway): DeviceMessage[] =>
  [...devices.values()]
    .filter(({ gatewayId }) => gatewayId === gateway.row.id)
    .map((device) => heartbeat(device, isOnline(gateway, device) ? 'online' : 'offline'));

/** From now on a message on its topics is of this device. */
export function hearOf({ byTopic }: KnownGateway, device: KnownDevice): void {
  for (const topic of device.topics.heard) {
    const others = (byTopic.get(topic) ?? []).filter(({ goneAt }) => goneAt === null);
    if (others.length < maxSharing) byTopic.set(topic, [...others, device]);
  }
}

/** A message on its topics is no longer of this device. */
export function forgetTopics({ byTopic }: KnownGateway, device: KnownDevice): void {
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
