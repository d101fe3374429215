import { hash } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { Refusal } from '@station/protocol/gateways';
import type { DeviceMessage, ForeignReading } from '../core/foreign-devices-port.ts';
import type { AnnouncedDevice, AnnouncedList, DialectDevice, Said } from './dialect.ts';
import {
  forgetTopics,
  type GatewayMemory,
  hearOf,
  heartbeat,
  isOnline,
  type KnownDevice,
  type KnownGateway,
  maxDevices,
  nothing,
  ownDevice,
  shared,
} from './gateway-memory.ts';
import type { GatewayStore } from './gateway-store.ts';

/** What changes which devices a gateway has. */
export type AnnouncementParts = {
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

/** A person removed this device at its gateway. */
export function takeRemoval(
  { memory, onRemoved }: AnnouncementParts,
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

/** Devices of a list that are described and stored at once: those of a large network would take megabytes. */
const pieceSize = 10;

/** A list of all devices: new ones are added, those that are missing are gone. */
export function takeList(
  parts: AnnouncementParts,
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
  const { isOf } = list;
  return takePiece(parts, gateway, {
    devices: list.devices[Symbol.iterator](),
    isOf,
    ids: new Set(),
    topics: new Set(),
  });
}

/** A list that is being read. `ids`, `topics`: of its devices until now. */
type ListReading = Pick<AnnouncedList, 'isOf'> & {
  devices: Iterator<AnnouncedDevice, unknown>;
  ids: Set<string>;
  topics: Set<string>;
};

function takePiece(parts: AnnouncementParts, gateway: KnownGateway, list: ListReading): ForeignReading {
  // A person may have removed it between two pieces.
  if (parts.memory.gateways.get(gateway.row.id) !== gateway) return nothing;
  const piece: AnnouncedDevice[] = [];
  for (let count = 0; count < pieceSize; count++) {
    const { done, value: device } = list.devices.next();
    // Who is missing is known only when all of it was read.
    if (done === true) return announce(parts, gateway, piece, missingOf(parts, gateway, list));
    const { externalId, topics } = device;
    const isFree = topics.heard.every((topic) => !list.topics.has(topic));
    for (const topic of topics.heard) list.topics.add(topic);
    if (!isFree) continue;
    list.ids.add(externalId);
    piece.push(device);
  }
  return { ...announce(parts, gateway, piece), next: () => takePiece(parts, gateway, list) };
}

const missingOf = ({ memory }: AnnouncementParts, { row }: KnownGateway, { ids, isOf }: ListReading): KnownDevice[] =>
  [...memory.devices.values()].filter(
    ({ gatewayId, externalId, goneAt }) =>
      gatewayId === row.id && goneAt === null && !ids.has(externalId) && isOf(externalId),
  );

/** Takes what is new of these devices. @param missing they are gone. */
export function announce(
  parts: AnnouncementParts,
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
    const said = JSON.stringify([found.name, found.topics, found.words, found.plan]);
    const refusal = refusalOf(memory, gateway, known, said.length);
    const entry = refusal === null ? [] : [{ name: found.name, reason: refusal, detail: null }];
    gateway.notSupported.tell(`device ${found.externalId}`, entry);
    const device = refusal === null ? renewed(memory, gateway, { found, said }, known) : null;
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

/** Characters that all devices of a gateway say of themselves, as JSON. A short announcement can make a long plan, and all of them are read at the start. */
const maxSaid = 16 * 1_024 * 1_024;

/** A device of another gateway, which still has it, stays there. @param size characters that it says of itself. */
function refusalOf(
  { devices }: GatewayMemory,
  { row, fresh }: KnownGateway,
  known: KnownDevice | undefined,
  size: number,
): Refusal | null {
  if (known !== undefined && known.gatewayId !== row.id && known.goneAt === null) return 'elsewhere';
  let count = 1;
  let total = size;
  for (const device of devices.values()) {
    if (device.gatewayId !== row.id || device === known) continue;
    count += 1;
    total += device.size;
  }
  const hasRoom = count <= maxDevices && total <= maxSaid;
  return hasRoom && (known !== undefined || fresh.take()) ? null : 'no_room';
}

/** Null: it has said all of it before. */
function renewed(
  memory: GatewayMemory,
  gateway: KnownGateway,
  { found: { externalId, name, topics, plan }, said }: { found: AnnouncedDevice; said: string },
  known: KnownDevice | undefined,
): KnownDevice | null {
  const saidHash = hash('sha256', said);
  if (known !== undefined && known.saidHash === saidHash && known.goneAt === null) return null;
  if (known !== undefined) forgetTopics(gateway, known);
  const fresh = { externalId, wasAdded: false, availability: null };
  const now = {
    gatewayId: gateway.row.id,
    name,
    topics,
    plan: shared(memory, plan),
    size: said.length,
    goneAt: null,
    saidHash,
    isBack: known !== undefined && known.goneAt !== null,
  };
  const device = Object.assign(known ?? { ...fresh, ...now }, now);
  memory.devices.set(externalId, device);
  hearOf(gateway, device);
  return device;
}
