import { hash } from 'node:crypto';
import { parseJson } from '@station/kit/json';
import type { Clock } from '@station/kit/clock';
import { maxGatewayPayloadBytes, maxPayloadBytes } from '@station/protocol/topics';
import type { DeviceMessage, ForeignDevices, GatewayMessage } from '../core/foreign-devices-port.ts';
import type { AnnouncedDevice } from './dialect.ts';
import type { GatewayRow, GatewayStore, KeptDevice } from './gateway-store.ts';
import { readList, readRemoval, readTopic } from './zigbee2mqtt/bridge-decide.ts';
import { describe } from './zigbee2mqtt/describe-decide.ts';
import { readAvailability, readState } from './zigbee2mqtt/payloads-decide.ts';

/** A device that a gateway has announced, as it is known now. */
export type KnownDevice = KeptDevice & {
  availability: 'online' | 'offline' | null;
  /** Of its words, in this run; null: it said nothing yet. */
  saidHash: string | null;
};

/** A gateway, as it is known now. */
export type KnownGateway = {
  row: GatewayRow;
  state: 'waiting' | 'online' | 'offline';
  heardAt: number | null;
  /** Of its latest list that was taken; null: the next one is read in any case. */
  listHash: string | null;
  /** By the name that is part of topics. */
  byName: Map<string, KnownDevice>;
};

export type GatewayMemory = {
  gateways: Map<string, KnownGateway>;
  /** By external id. */
  devices: Map<string, KnownDevice>;
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
  clock: Pick<Clock, 'now'>;
};

type Reading = ReturnType<ForeignDevices['read']>;

const nothing: Reading = { messages: [], stored: null };

/** From messages of gateways to messages of their devices. */
export function createGatewayReader(parts: ReaderParts): (message: GatewayMessage) => Reading {
  const { memory, clock } = parts;
  return (message) => {
    const gateway = gatewayOf(memory, message.topic);
    if (gateway === null) return nothing;
    const topic = readTopic(message.topic.slice(gateway.row.base_topic.length + 1));
    const mostBytes = topic.kind === 'devices' ? maxGatewayPayloadBytes : maxPayloadBytes;
    if (topic.kind === 'other' || message.payload.length > mostBytes) return nothing;
    const text = message.payload.toString('utf8');
    if (!message.isRetained) gateway.heardAt = clock.now();
    switch (topic.kind) {
      case 'devices':
        return readAnnouncement(parts, gateway, text);
      case 'bridge_state':
        return readBridgeState(gateway, text);
      case 'removal':
        return readRemoved(parts, gateway, parseJson(text));
      case 'availability':
        return readAvailable(gateway, topic.name, text);
      case 'state':
        return readReport(gateway, topic.name, message.isRetained, text);
    }
  };
}

function gatewayOf({ gateways }: GatewayMemory, topic: string): KnownGateway | null {
  for (const gateway of gateways.values()) if (topic.startsWith(`${gateway.row.base_topic}/`)) return gateway;
  return null;
}

const heartbeat = ({ externalId }: KnownDevice, status: 'online' | 'offline'): DeviceMessage => ({
  externalId,
  end: 'heartbeat',
  body: { status },
});

/** Whether a device is online, by all that its gateway says. */
const isOnline = ({ state }: KnownGateway, device: KnownDevice): boolean =>
  state !== 'offline' && device.availability !== 'offline' && device.goneAt === null;

function readBridgeState(gateway: KnownGateway, text: string): Reading {
  const state = readAvailability(text);
  if (state === null) return nothing;
  gateway.state = state;
  return { messages: statusesOf(gateway), stored: null };
}

/** The status of each of its devices. */
export const statusesOf = (gateway: KnownGateway): DeviceMessage[] =>
  [...gateway.byName.values()].map((device) => heartbeat(device, isOnline(gateway, device) ? 'online' : 'offline'));

function readAvailable(gateway: KnownGateway, name: string, text: string): Reading {
  const device = gateway.byName.get(name);
  const availability = readAvailability(text);
  if (device === undefined || availability === null) return nothing;
  device.availability = availability;
  return { messages: [heartbeat(device, isOnline(gateway, device) ? 'online' : 'offline')], stored: null };
}

function readReport(gateway: KnownGateway, name: string, isRetained: boolean, text: string): Reading {
  const device = gateway.byName.get(name);
  const report = device === undefined ? null : readState(device.plan, parseJson(text));
  if (device === undefined || report === null) return nothing;
  const { externalId } = device;
  const messages: DeviceMessage[] = [{ externalId, end: 'state', body: { state: report.state } }];
  if (isRetained) {
    // A state that the broker kept says nothing of whether the device is there, and presses no button again.
    if (!isOnline(gateway, device)) messages.push(heartbeat(device, 'offline'));
  } else if (report.event !== null) {
    messages.push({ externalId, end: 'event', body: { event: 'user_event', data: { action: report.event } } });
  }
  return { messages, stored: null };
}

function readRemoved({ memory, onRemoved }: ReaderParts, gateway: KnownGateway, payload: unknown): Reading {
  const id = readRemoval(payload);
  if (id === null) return nothing;
  const device = gateway.byName.get(id) ?? memory.devices.get(`zigbee2mqtt:${id.toLowerCase()}`);
  if (device?.gatewayId !== gateway.row.id) return nothing;
  gateway.byName.delete(device.name);
  gateway.listHash = null;
  memory.devices.delete(device.externalId);
  return { messages: [], stored: onRemoved(device) };
}

/** A list of all devices: new ones are added, those that are missing are gone. */
function readAnnouncement(parts: ReaderParts, gateway: KnownGateway, text: string): Reading {
  const { memory, store, write, clock } = parts;
  const listHash = hash('sha256', text);
  // It may be megabytes, and comes again with every connection.
  if (gateway.listHash === listHash) return nothing;
  const list = readList(parseJson(text));
  if (list === null) return nothing;
  const messages: DeviceMessage[] = [];
  const changed: KnownDevice[] = [];
  const after: (() => Promise<void>)[] = [];
  const announced = new Map<string, KnownDevice>();
  const plans = plansOf(memory);
  for (const found of list.flatMap((entry) => describe(entry) ?? [])) {
    if (announced.has(found.name)) continue;
    const known = memory.devices.get(found.externalId);
    // It is a device of another gateway, which still has it.
    if (known !== undefined && known.gatewayId !== gateway.row.id && known.goneAt === null) continue;
    const before = known?.name ?? found.name;
    const { device, isChanged } = take({ memory, gateway, plans }, found, known);
    announced.set(found.name, device);
    if (!isChanged) continue;
    changed.push(device);
    if (known !== undefined) after.push(() => parts.onChanged(device, before, found.words));
    messages.push({ externalId: device.externalId, end: 'handshake', body: found.words });
    if (!isOnline(gateway, device)) messages.push(heartbeat(device, 'offline'));
  }
  const ids = new Set([...announced.values()].map(({ externalId }) => externalId));
  for (const device of gateway.byName.values()) {
    if (ids.has(device.externalId)) continue;
    // Its topics may be those of another device from now on.
    if (!announced.has(device.name)) announced.set(device.name, device);
    if (device.goneAt !== null) continue;
    device.goneAt = clock.now();
    changed.push(device);
    messages.push(heartbeat(device, 'offline'));
  }
  gateway.byName = announced;
  gateway.listHash = listHash;
  if (changed.length === 0) return nothing;
  const storing = async (): Promise<void> => {
    try {
      await store.save(changed);
    } catch (error) {
      // What is not on disk is taken again with the next list.
      for (const device of changed) device.saidHash = null;
      gateway.listHash = null;
      throw error;
    }
    for (const work of after) await work();
  };
  return { messages, stored: write(storing) };
}

function take(
  { memory: { devices }, gateway, plans }: { memory: GatewayMemory; gateway: KnownGateway; plans: Plans },
  { externalId, name, words, plan }: AnnouncedDevice,
  known: KnownDevice | undefined,
): { device: KnownDevice; isChanged: boolean } {
  const saidHash = hash('sha256', JSON.stringify([name, words, plan]));
  if (known !== undefined && known.saidHash === saidHash && known.goneAt === null)
    return { device: known, isChanged: false };
  const fresh = { externalId, wasAdded: false, availability: null };
  const device = Object.assign(known ?? { ...fresh, gatewayId: '', name, plan, goneAt: null, saidHash }, {
    gatewayId: gateway.row.id,
    name,
    plan: shared(plans, plan),
    goneAt: null,
    saidHash,
  });
  devices.set(externalId, device);
  return { device, isChanged: true };
}

/** The plans that are known, by their text: a hundred devices of one model need the memory of one. */
type Plans = Map<string, AnnouncedDevice['plan']>;

const plansOf = ({ devices }: GatewayMemory): Plans =>
  new Map([...devices.values()].map(({ plan }) => [JSON.stringify(plan), plan]));

function shared(plans: Plans, plan: AnnouncedDevice['plan']): AnnouncedDevice['plan'] {
  const text = JSON.stringify(plan);
  const known = plans.get(text) ?? plan;
  plans.set(text, known);
  return known;
}
