import { randomBytes } from 'node:crypto';
import { isoTime } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { StationError } from '@station/kit/station-error';
import { type Consumer, type ConsumerKind, type ConsumerLoginSheet, consumerNames } from '@station/protocol/consumers';
import { coversTopics } from '@station/protocol/topics';
import type { Commands } from '../core/commands.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { ForeignDevices, GatewayBroker, GatewayMessage, SystemLogin } from '../core/foreign-devices-port.ts';
import type { Host } from '../core/host.ts';
import { hashToken, newToken } from '../core/secrets.ts';
import { askBroker, openBroker } from '../core/system-broker.ts';
import { createAsks } from './asks.ts';
import type { ConsumerRow, ConsumerStore } from './consumer-store.ts';
import { homeAssistant } from './home-assistant-decide.ts';
import type { ConsumerDialect, House } from './picture.ts';
import { startTeller, type Teller } from './teller.ts';
import { zigbee2mqtt } from './zigbee2mqtt-decide.ts';

/** Other systems that see the devices, as owner and admins manage them. */
export type Consumers = AsyncDisposable & {
  list(): Consumer[];
  /** @throws {StationError} `conflict`, `unavailable`. */
  switchOn(kind: ConsumerKind, topic: string): Promise<ConsumerLoginSheet>;
  /** A new password. @throws {StationError} `not_found`, `unavailable`. */
  renewLogin(kind: ConsumerKind): Promise<ConsumerLoginSheet>;
  /** @throws {StationError} `not_found`, `unavailable`. */
  switchOff(kind: ConsumerKind): Promise<void>;
  /** What the broker knows of them, beside the gateways. */
  beside(gateways: ForeignDevices): ForeignDevices;
  /** The devices can be told, and commanded. */
  begin(house: { read: () => Promise<House>; commands: Pick<Commands, 'send'> }): void;
};

type ConsumerParts = Pick<Host, 'clock' | 'logger'> & {
  store: ConsumerStore;
  stationId: string;
  events: Pick<DeviceEvents, 'subscribe'>;
  /** Topic filters of gateways: nobody else has these trees. */
  taken: () => readonly string[];
  /** Several backends share the broker: none can be switched on (ADR 83). */
  isShared: boolean;
};

const dialects: Readonly<Record<ConsumerKind, ConsumerDialect>> = { home_assistant: homeAssistant, zigbee2mqtt };

/** One that is switched on. */
type Running = {
  row: ConsumerRow;
  heardAt: number | null;
  /** Null: the link to the broker is not open yet. */
  open: {
    teller: Teller;
    take: (message: GatewayMessage) => void;
    isHeard: () => boolean | null;
    /** The station ends: devices cannot be seen until it is back. */
    leave: () => Promise<void>;
    close: () => Promise<void>;
  } | null;
};

type HouseDoor = Parameters<Consumers['begin']>[0];

type State = ConsumerParts & {
  running: Map<ConsumerKind, Running>;
  broker: GatewayBroker | null;
  house: HouseDoor | null;
};

/** Opened before the broker, which must know their logins. */
export async function openConsumers(parts: ConsumerParts): Promise<Consumers> {
  const rows = await parts.store.list();
  const { run } = createExclusiveRunner();
  const running = new Map(rows.map((row): [ConsumerKind, Running] => [row.kind, { row, heardAt: null, open: null }]));
  const state: State = { ...parts, running, broker: null, house: null };
  return {
    list: () => [...running.values()].map(toBody),
    switchOn: (kind, topic) => run(() => switchOn(state, kind, topic)),
    renewLogin: (kind) => run(() => giveLogin(state, find(state, kind))),
    switchOff: (kind) => run(() => switchOff(state, find(state, kind))),
    beside: (gateways) => besideGateways(state, gateways),
    begin: (house) => {
      state.house = house;
      openAll(state);
    },
    [Symbol.asyncDispose]: () => run(() => closeAll(state)),
  };
}

function besideGateways(state: State, gateways: ForeignDevices): ForeignDevices {
  const { running, stationId } = state;
  return {
    ...gateways,
    findLogin: (login) => {
      for (const { row } of running.values())
        if (row.login === login) return { ...loginOf(stationId, row), tokenHash: row.token_hash, isSmall: true };
      return gateways.findLogin(login);
    },
    read: (message) => {
      for (const one of running.values()) if (isFor(state, one, message.topic)) take(state, one, message);
      return gateways.read(message);
    },
    attach: (broker) => {
      const attached = gateways.attach(broker);
      state.broker = broker;
      openAll(state);
      return {
        [Symbol.dispose]: () => {
          state.broker = null;
          attached[Symbol.dispose]();
        },
      };
    },
  };
}

const loginOf = (stationId: string, { kind, login, topic }: ConsumerRow): SystemLogin => ({
  login,
  rights: dialects[kind].rights(topic, stationId),
});

const isFor = ({ stationId }: State, { row }: Running, topic: string): boolean =>
  dialects[row.kind].rights(row.topic, stationId).mayPublish.some((filter) => coversTopics(filter, topic));

function take({ clock }: State, one: Running, message: GatewayMessage): void {
  one.heardAt = clock.now();
  one.open?.take(message);
}

function openAll(state: State): void {
  if (state.isShared) return;
  for (const one of state.running.values()) open(state, one);
}

function open(state: State, one: Running): void {
  const { broker, house, store, stationId, events, clock, logger } = state;
  if (one.open !== null || broker === null || house === null) return;
  const { row } = one;
  const { kind, topic: base } = row;
  const dialect = dialects[kind];
  const { topic, offline } = dialect.presence(base, stationId);
  let teller: Teller | null = null;
  const link = broker.openLink({
    ...loginOf(stationId, row),
    will: { topic, payload: offline },
    onConnected: () => teller?.connected(),
    onMessage: (message) => take(state, one, message),
  });
  const started = startTeller({ kind, dialect, base, stationId, store, link, readHouse: house.read, clock, logger });
  teller = started;
  const heeding = events.subscribe(started.heed);
  one.open = {
    teller: started,
    take: createAsks({ kind, teller: started, commands: house.commands, clock, logger }),
    isHeard: link.isHeard,
    leave: () => link.publish(topic, offline, true).catch(() => undefined),
    close: async () => {
      one.open = null;
      heeding[Symbol.dispose]();
      await started[Symbol.asyncDispose]();
      await link[Symbol.asyncDispose]();
    },
  };
}

/** A broker that hangs is not waited for: its last will says the same. */
const leaveMs = 1_000;

async function closeAll({ running, clock }: State): Promise<void> {
  const leaving = [...running.values()].map(async ({ open: opened }) => {
    if (opened === null) return;
    await Promise.race([opened.leave(), clock.sleep(leaveMs)]);
    await opened.close();
  });
  await Promise.all(leaving);
}

function toBody({ row, heardAt, open: opened }: Running): Consumer {
  const picture = opened?.teller.picture() ?? null;
  return {
    kind: row.kind,
    topic: row.topic,
    login: row.login,
    createdAt: isoTime(row.created_at),
    isConnected: opened?.isHeard() ?? null,
    heardAt: heardAt === null ? null : isoTime(heardAt),
    devices: picture?.devices ?? 0,
    leftOut: picture?.leftOut ?? 0,
  };
}

function find({ running }: State, kind: ConsumerKind): Running {
  const one = running.get(kind);
  if (one === undefined) throw new StationError('not_found', `${consumerNames[kind]} is not switched on.`);
  return one;
}

async function switchOn(state: State, kind: ConsumerKind, topic: string): Promise<ConsumerLoginSheet> {
  const { running, store, clock } = state;
  refuse(state, kind, topic);
  const before = running.get(kind);
  if (before !== undefined) await switchOff(state, before);
  const row: ConsumerRow = {
    kind,
    topic,
    login: `consumer-${randomBytes(5).toString('hex')}`,
    // Nobody has this password.
    token_hash: hashToken(newToken()),
    created_at: clock.now(),
  };
  await store.save(row);
  const one: Running = { row, heardAt: null, open: null };
  running.set(kind, one);
  try {
    const sheet = await giveLogin(state, one);
    open(state, one);
    return sheet;
  } catch (error) {
    running.delete(kind);
    await store.remove(kind);
    throw error;
  }
}

function refuse({ running, taken, isShared }: State, kind: ConsumerKind, topic: string): void {
  if (isShared) throw new StationError('conflict', 'A station of several backends speaks to no other system.');
  const others = [...running.values()].filter(({ row }) => row.kind !== kind).map(({ row }) => row.topic);
  const trees = [...taken().map((filter) => filter.replace(/\/#$/, '')), ...others];
  const isBelow = (one: string, other: string): boolean => `${one}/`.startsWith(`${other}/`);
  if (trees.some((tree) => isBelow(tree, topic) || isBelow(topic, tree)))
    throw new StationError('conflict', `Another system has the topics below "${topic}" already.`);
}

async function giveLogin(state: State, one: Running): Promise<ConsumerLoginSheet> {
  const { store, stationId } = state;
  const token = newToken();
  const row = { ...one.row, token_hash: hashToken(token) };
  await store.save(row);
  // Known before the connection ends: nobody comes back with the password of before.
  one.row = row;
  const isLoginMade = await askBroker(() => openBroker(state).addLogin({ ...loginOf(stationId, row), token }));
  return { consumer: toBody(one), login: row.login, password: token, isLoginMade };
}

async function switchOff(state: State, one: Running): Promise<void> {
  const { running, store, stationId } = state;
  const { row, open: opened } = one;
  const broker = openBroker(state);
  await askBroker(async () => {
    try {
      // Before the station loses its right to these topics.
      await opened?.teller.clear();
    } finally {
      await opened?.close();
    }
    await broker.removeLogin(loginOf(stationId, row));
  }).catch((error: unknown) => {
    // It is still on, so that a person can try again.
    open(state, one);
    throw error;
  });
  running.delete(row.kind);
  await store.remove(row.kind);
}
