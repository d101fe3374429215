import { randomBytes } from 'node:crypto';
import { isoTime } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { StationError } from '@station/kit/station-error';
import { after } from '@station/kit/timers';
import type { Handshake } from '@station/protocol/device-messages';
import { type DialectName, discoveryPrefixes } from '@station/protocol/gateway-systems';
import type { Gateway, GatewayLoginSheet, HeardSystem, NewGateway } from '@station/protocol/gateways';
import type { ExpectedDevices } from '../core/expected-devices-port.ts';
import type { ForeignDevices, GatewayBroker, SystemLogin } from '../core/foreign-devices-port.ts';
import { hashToken, newToken } from '../core/secrets.ts';
import { askBroker, openBroker } from '../core/system-broker.ts';
import type { Platform } from '../platform/module.ts';
import type { AnnouncedDevice, Dialect, Place } from './dialect.ts';
import { dialectOf } from './dialects.ts';
import {
  type GatewayMemory,
  type KnownDevice,
  type KnownGateway,
  newGateway,
  readMemory,
  statusesOf,
} from './gateway-memory.ts';
import { createGatewayReader } from './gateway-reader.ts';
import type { GatewayStore, KeptDevice } from './gateway-store.ts';
import { createHeardSystems, type HeardSystems } from './heard-systems.ts';
import { createSoon, type Soon } from './soon.ts';
import { commandPayload } from './payloads-decide.ts';
import { isWithin, overlap } from './trees-decide.ts';

/** Gateways as owner and admins manage them. */
export type Gateways = {
  list(): Promise<Gateway[]>;
  /** Systems that were noticed and are not connected. */
  heard(): Promise<HeardSystem[]>;
  /** @throws {StationError} `conflict`, `unavailable`. */
  add(gateway: NewGateway): Promise<GatewayLoginSheet>;
  /** A new password. @throws {StationError} `not_found`, `unavailable`. */
  renewLogin(id: string): Promise<GatewayLoginSheet>;
  /** Its devices leave with it. @throws {StationError} `not_found`, `unavailable`. */
  remove(id: string): Promise<void>;
};

export type OpenGateways = { gateways: Gateways; foreign: ForeignDevices; expected: ExpectedDevices };

type GatewayParts = Pick<Platform, 'events' | 'stationEvents'> & {
  store: GatewayStore;
  clock: Platform['host']['clock'];
  logger: Platform['host']['logger'];
  /** Several backends share the broker: no gateway can be added (ADR 82). */
  isShared: boolean;
};

const maxGateways = 8;
/** Of what is not supported. */
const maxShown = 100;
/** Names of devices are shorter than those of Zigbee2MQTT may be. */
const longestName = 100;
/** A gateway that was not heard so long after the start is not there. */
const silenceMs = 3 * 60_000;

type State = GatewayParts & {
  memory: GatewayMemory;
  broker: GatewayBroker | null;
  heard: HeardSystems;
  soon: Soon;
  write: (work: () => Promise<void>) => Promise<void>;
};

/** Opened before the broker, which must know their logins and topics. */
export async function openGateways(parts: GatewayParts): Promise<OpenGateways> {
  const { logger } = parts;
  const { run } = createExclusiveRunner();
  const write = (work: () => Promise<void>): Promise<void> =>
    run(work).catch((error: unknown) => logger.failed('storing what a gateway announced', error));
  const memory = await readMemory(parts.store, parts.clock);
  const isTaken = (trees: readonly string[]): boolean => ownerOf(memory, trees) !== undefined;
  const heard = createHeardSystems({ clock: parts.clock, isTaken });
  const state: State = { ...parts, memory, broker: null, heard, soon: createSoon(parts.clock), write };
  return {
    gateways: {
      list: () => listGateways(state),
      heard: () => listHeard(state),
      // One after the other, also with what is stored: two that come together find the same room and the same topics.
      add: (gateway) => run(() => addGateway(state, gateway)),
      renewLogin: (id) => run(() => renewLogin(state, find(state, id))),
      remove: (id) => run(() => removeGateway(state, find(state, id))),
    },
    foreign: foreignDevices(state),
    expected: expectedDevices(state),
  };
}

function foreignDevices(state: State): ForeignDevices {
  const { memory, store, write, clock } = state;
  const { devices, gateways } = memory;
  const reader = createGatewayReader({
    memory,
    store,
    write,
    onChanged: (device, before, words) => follow(state, device, before, words),
    onRemoved: (device) => write(() => leave(state, device)),
    ask: (question) => state.broker?.ask(question),
    soon: (key, read) => state.soon.call(key, () => state.broker?.hear(read)),
    later: (key, quietForMs, read) => state.soon.later(key, quietForMs, () => state.broker?.hear(read)),
    clock,
  });
  return {
    filters: () => [...gateways.values()].flatMap(({ trees }) => filtersOf(trees)),
    findLogin: (login) => {
      for (const gateway of gateways.values())
        if (gateway.row.login === login) return { ...loginOf(gateway), tokenHash: gateway.row.token_hash };
      return null;
    },
    isForeign: (externalId) => devices.has(externalId),
    read: reader.read,
    write: (externalId, command) => {
      const device = devices.get(externalId);
      const gateway = device === undefined ? undefined : gateways.get(device.gatewayId);
      if (device === undefined || gateway === undefined || device.goneAt !== null) return null;
      const payload = commandPayload(device.plan, command);
      const written = payload === null ? [] : gateway.dialect.write(device, payload);
      return written.length > 0 && written.every(({ topic }) => isWithin(gateway.trees, topic)) ? written : null;
    },
    refused: state.heard.refused,
    attach: (broker) => {
      state.broker = broker;
      const waiting = after(silenceMs, () => {
        for (const gateway of gateways.values()) {
          void endWait(state, gateway);
          reader.endValues(gateway);
        }
      });
      return {
        [Symbol.dispose]: () => {
          state.broker = null;
          waiting[Symbol.dispose]();
          state.soon[Symbol.dispose]();
        },
      };
    },
  };
}

const filtersOf = (trees: readonly string[]): string[] => trees.map((tree) => `${tree}/#`);

function loginOf({ row, trees }: KnownGateway): SystemLogin {
  const filters = filtersOf(trees);
  return { login: row.login, rights: { mayPublish: filters, mayRead: filters } };
}

async function endWait({ memory, broker }: State, gateway: KnownGateway): Promise<void> {
  // One that is heard, but never says its state, is of an old release.
  if (gateway.heardAt !== null && !gateway.dialect.isEachForItself) return;
  if (gateway.heardAt === null) gateway.state = 'offline';
  for (const device of memory.devices.values())
    if (gateway.dialect.isEachForItself && device.gatewayId === gateway.row.id) device.availability ??= 'offline';
  for (const message of statusesOf(memory, gateway)) void broker?.receive(message);
}

/** A device that a gateway announces is added with its first handshake; one that a person removed here is neither added nor told. */
function expectedDevices(state: State): ExpectedDevices {
  const { devices } = state.memory;
  return {
    mayLogIn: async () => false,
    hasLogin: async () => false,
    receive: async (externalId, handshake) => {
      const device = devices.get(externalId);
      if (device === undefined) return 'not_expected';
      if (handshake === null || (device.wasAdded && !device.isBack)) return 'expected';
      return (await accept(state, device, handshake)) ? 'added' : 'expected';
    },
  };
}

async function accept(state: State, device: KnownDevice, words: Handshake): Promise<boolean> {
  const { store, write, events, stationEvents, clock } = state;
  const { externalId } = device;
  let isAdded = false;
  await write(async () => {
    if (device.wasAdded && !device.isBack) return;
    const name = device.name.slice(0, longestName);
    const deviceId = await store.accept(externalId, name, words, clock.now());
    device.wasAdded = true;
    device.isBack = false;
    isAdded = true;
    stationEvents.note('device_added', { deviceId, name });
    events.emit({ kind: 'added', deviceId, externalId, isLoginKept: true });
  });
  return isAdded;
}

async function follow(
  { store, events }: State,
  { externalId, name }: KnownDevice,
  before: string,
  words: AnnouncedDevice['words'],
): Promise<void> {
  const shorten = (text: string): string => text.slice(0, longestName);
  const renamed = before === name ? null : await store.rename(externalId, shorten(before), shorten(name));
  const deviceId = (await store.retype(externalId, words.type)) ?? renamed;
  if (deviceId !== null) events.emit({ kind: 'changed', deviceId, externalId });
}

async function leave({ store, events, stationEvents, clock }: State, { externalId }: KeptDevice): Promise<void> {
  const device = await store.leave(externalId, clock.now());
  if (device === null) return;
  events.emit({ kind: 'removed', deviceId: device.id, externalId });
  stationEvents.note('device_removed', { deviceId: device.id, name: device.name });
}

async function listGateways({ memory, store }: State): Promise<Gateway[]> {
  const present = await store.present();
  return [...memory.gateways.values()].map((gateway) => toBody(memory, present, gateway));
}

async function listHeard({ heard, broker, store, isShared }: State): Promise<HeardSystem[]> {
  if (isShared) return [];
  if (broker !== null) heard.look(broker);
  const own = await store.consumerTrees();
  return heard.list().filter(({ baseTopic }) => !overlap(own, [baseTopic]));
}

function toBody(
  { devices }: GatewayMemory,
  present: ReadonlySet<string>,
  { row, state, heardAt, notSupported }: KnownGateway,
): Gateway {
  const refused = notSupported.all();
  const own = [...devices.values()].filter(({ gatewayId }) => gatewayId === row.id);
  return {
    id: row.id,
    name: row.name,
    dialect: row.dialect as DialectName,
    baseTopic: row.base_topic,
    discoveryPrefix: row.discovery_prefix,
    login: row.login,
    createdAt: isoTime(row.created_at),
    state,
    heardAt: heardAt === null ? null : isoTime(heardAt),
    devices: own.filter(({ externalId }) => present.has(externalId)).length,
    removedDevices: own.filter(({ externalId, wasAdded }) => wasAdded && !present.has(externalId)).length,
    notSupported: refused.slice(0, maxShown),
    notSupportedCount: refused.length,
  };
}

function find({ memory }: State, id: string): KnownGateway {
  const gateway = memory.gateways.get(id);
  if (gateway === undefined) throw new StationError('not_found', 'There is no such gateway.');
  return gateway;
}

async function addGateway(state: State, given: NewGateway): Promise<GatewayLoginSheet> {
  const { memory, store, clock } = state;
  const { name, dialect, baseTopic } = given;
  const usual = discoveryPrefixes[dialect];
  const discovery = usual === undefined ? null : (given.discoveryPrefix ?? usual);
  const spoken = await refuse(state, dialect, { base: baseTopic, discovery });
  const token = newToken();
  const row = await store.add({
    name,
    dialect,
    base_topic: baseTopic,
    discovery_prefix: discovery,
    login: `gateway-${randomBytes(5).toString('hex')}`,
    token_hash: hashToken(token),
    created_at: clock.now(),
  });
  const gateway = newGateway(row, spoken, clock);
  memory.gateways.set(row.id, gateway);
  try {
    return await giveLogin(state, gateway, token);
  } catch (error) {
    memory.gateways.delete(row.id);
    await store.remove(row.id);
    throw error;
  }
}

/** A gateway that has some of these topics. */
const ownerOf = ({ gateways }: GatewayMemory, trees: readonly string[]): KnownGateway | undefined =>
  [...gateways.values()].find((gateway) => overlap(gateway.trees, trees));

/** @returns the dialect of a gateway that can be added. */
async function refuse({ memory, store, isShared }: State, name: DialectName, place: Place): Promise<Dialect> {
  const dialect = dialectOf(name);
  if (isShared) throw new StationError('conflict', 'A station of several backends takes no gateways.');
  if (memory.gateways.size >= maxGateways)
    throw new StationError('conflict', `There are ${maxGateways} gateways already.`);
  if (dialect === undefined) throw new StationError('bad_request', 'There is no such system.');
  const trees = dialect.trees(place);
  const other = ownerOf(memory, trees);
  if (other !== undefined) throw new StationError('conflict', `"${other.row.name}" has topics of this one already.`);
  if (overlap(await store.consumerTrees(), trees))
    throw new StationError('conflict', 'The station itself publishes on topics of this one.');
  return dialect;
}

async function renewLogin(state: State, gateway: KnownGateway): Promise<GatewayLoginSheet> {
  const token = newToken();
  const tokenHash = hashToken(token);
  await state.store.changeToken(gateway.row.id, tokenHash);
  // Before its connection ends: who has the password of before would connect again.
  gateway.row.token_hash = tokenHash;
  return giveLogin(state, gateway, token);
}

async function giveLogin(state: State, gateway: KnownGateway, token: string): Promise<GatewayLoginSheet> {
  const { login } = gateway.row;
  const isLoginMade = await askBroker(() => openBroker(state).addLogin({ ...loginOf(gateway), token }));
  openBroker(state).onFiltersChanged();
  return { gateway: toBody(state.memory, await state.store.present(), gateway), login, password: token, isLoginMade };
}

async function removeGateway(state: State, gateway: KnownGateway): Promise<void> {
  const { memory, store } = state;
  const { id } = gateway.row;
  await askBroker(() => openBroker(state).removeLogin(loginOf(gateway)));
  const own = [...memory.devices.values()].filter(({ gatewayId }) => gatewayId === id);
  memory.gateways.delete(id);
  for (const device of own) memory.devices.delete(device.externalId);
  openBroker(state).onFiltersChanged();
  try {
    for (const device of own) await leave(state, device);
    await store.remove(id);
  } catch (error) {
    // It is still there, so that a person can try again.
    memory.gateways.set(id, gateway);
    for (const device of own) memory.devices.set(device.externalId, device);
    throw error;
  }
}
