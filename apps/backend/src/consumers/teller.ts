import { hash } from 'node:crypto';
import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { runLoop } from '@station/kit/loop';
import { createBackoff } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';
import { createWaker } from '@station/kit/wakeable';
import type { ConsumerKind } from '@station/protocol/consumers';
import { coversTopics } from '@station/protocol/topics';
import type { DeviceEvent } from '../core/device-events.ts';
import type { SystemLink } from '../core/foreign-devices-port.ts';
import type { ConsumerStore, Parts } from './consumer-store.ts';
import type { ConsumerDialect, House, Kept, Message, Picture } from './picture.ts';

type TellerParts = {
  kind: ConsumerKind;
  dialect: ConsumerDialect;
  /** Discovery prefix, or base topic. */
  base: string;
  stationId: string;
  store: ConsumerStore;
  link: SystemLink;
  readHouse: () => Promise<House>;
  clock: Clock;
  logger: BackendLogger;
};

/** Tells a consumer what devices there are and how they are. */
export type Teller = AsyncDisposable & {
  /** The broker can be used; what it kept is not known. */
  connected(): void;
  heed(event: DeviceEvent): void;
  /** Tells all of it once more. */
  everything(): void;
  again(deviceId: string): void;
  say(message: Message): void;
  picture(): Picture | null;
  /** Takes back all that the broker keeps. @throws (rejects) when it could not: the broker is offline. */
  clear(): Promise<void>;
};

/** Messages without an acknowledgement. */
const inflight = 10;
/** Of events and answers that wait. What does not fit is lost, as for somebody who was away. */
const mostSaid = 200;
/** Types come and go without an event of a device. */
const lookAgainMs = 60_000;
/** Changes of many devices are told together; a consumer that asks for everything gets it no more often than this. */
const gatherMs = 250;
const everythingMs = 5_000;
/**
 * A state that is reported again is told again, as Zigbee2MQTT does: ioBroker keeps one message of a device until it has the list, and that is the
 * availability, so that what never changes would stay unknown there. No more often than this.
 */
const repeatMs = 60_000;

type Told = { devices: Map<string, { state: House['devices'][number]['state']; isOnline: boolean }> };

/** One loop: facts from the database, then what differs from what the broker was told. */
export function startTeller(parts: TellerParts): Teller {
  const { clock, logger, kind } = parts;
  const waker = createWaker(clock);
  const ending = new AbortController();
  const state: TellerState = {
    parts,
    picture: null,
    known: { devices: new Map() },
    told: new Map(),
    kept: null,
    dirty: new Set(),
    said: [],
    isStale: true,
    heard: null,
    isConnected: false,
    toldAllMs: -Infinity,
    readMs: -Infinity,
    presence: parts.dialect.presence(parts.base, parts.stationId),
  };
  const wake = (): void => waker.wake();
  let lastMessage = '';
  const loop = runLoop({
    turn: async (signal) => {
      const waitMs = await turn(state, signal);
      lastMessage = '';
      return waitMs;
    },
    waker,
    clock,
    signal: ending.signal,
    backoff: createBackoff({ initialMs: 500, maxMs: 30_000, jitter: 0.2, random: Math.random }),
    onFailure: ({ error }) => {
      const message = describeError(error);
      if (message !== lastMessage) logger.failed(`telling ${kind} of the devices`, error);
      lastMessage = message;
    },
  });
  const stop = async (): Promise<void> => {
    ending.abort();
    await loop;
  };
  return {
    connected: () => {
      state.isConnected = true;
      state.told.clear();
      state.isStale = true;
      wake();
    },
    heed: (event) => {
      if (heed(state, event)) wake();
    },
    everything: () => {
      if (clock.monotonic() - state.toldAllMs < everythingMs) return;
      state.toldAllMs = clock.monotonic();
      state.told.clear();
      state.isStale = true;
      wake();
    },
    again: (deviceId) => {
      const known = state.known.devices.get(deviceId);
      const message = known === undefined ? null : (state.picture?.state(deviceId, known.state) ?? null);
      if (message === null) return;
      state.told.delete(message.topic);
      state.dirty.add(deviceId);
      wake();
    },
    say: (message) => {
      say(state, message);
      wake();
    },
    picture: () => state.picture,
    clear: async () => {
      await stop();
      await clear(state);
    },
    [Symbol.asyncDispose]: stop,
  };
}

type TellerState = {
  parts: TellerParts;
  picture: Picture | null;
  /** States and status, as the reports say. */
  known: Told;
  /** What the broker was told since it was connected, by topic, and when. */
  told: Map<string, { mark: string; atMs: number }>;
  /** What it may keep; null: not read yet. */
  kept: Map<string, Parts> | null;
  dirty: Set<string>;
  said: Message[];
  /** The devices are read again. */
  isStale: boolean;
  /** What was heard while they are read; null: they are not being read. */
  heard: DeviceEvent[] | null;
  isConnected: boolean;
  toldAllMs: number;
  readMs: number;
  presence: { topic: string; online: string; offline: string };
};

/** @returns whether there is something to tell. */
function heed(state: TellerState, event: DeviceEvent): boolean {
  state.heard?.push(event);
  follow(state, event);
  switch (event.kind) {
    case 'reports':
      for (const report of event.reports) {
        const known = state.known.devices.get(report.deviceId);
        if (known === undefined || report.kind !== 'event') continue;
        const { action } = report.data;
        const message =
          typeof action === 'string' ? state.picture?.event(report.deviceId, action, known.state) : undefined;
        if (message !== undefined && message !== null) say(state, message);
      }
      return state.dirty.size > 0 || state.said.length > 0;
    case 'status':
      return state.dirty.size > 0;
    case 'added':
    case 'changed':
    case 'described':
    case 'removed':
      state.isStale = true;
      return true;
    case 'command':
    case 'login_ended':
    case 'message':
      return false;
  }
}

/** How the devices are, by what they report. */
function follow({ known: { devices }, dirty }: TellerState, event: DeviceEvent): void {
  if (event.kind === 'status') {
    const known = devices.get(event.deviceId);
    if (known === undefined) return;
    known.isOnline = event.status === 'online';
    dirty.add(event.deviceId);
  } else if (event.kind === 'reports') {
    for (const report of event.reports) {
      const known = devices.get(report.deviceId);
      if (known === undefined || report.kind !== 'state') continue;
      known.state = { ...known.state, ...report.state };
      dirty.add(report.deviceId);
    }
  }
}

function say({ said, isConnected }: TellerState, message: Message): void {
  if (isConnected && said.length < mostSaid) said.push(message);
}

async function turn(state: TellerState, signal: AbortSignal): Promise<number> {
  const { clock } = state.parts;
  if (!state.isConnected) return Infinity;
  if (state.isStale || clock.monotonic() - state.readMs >= lookAgainMs) {
    if (state.picture !== null) await clock.sleep(gatherMs, signal);
    await tellAll(state, signal);
  }
  while (state.dirty.size > 0 || state.said.length > 0) {
    if (signal.aborted || state.isStale) return 0;
    const said = state.said.splice(0);
    await each(said, signal, ({ topic, payload }) => state.parts.link.publish(topic, payload, false));
    const dirty = [...state.dirty];
    state.dirty.clear();
    await each(dirty, signal, (deviceId) => tellDevice(state, deviceId));
  }
  return lookAgainMs;
}

/** Reads the devices, and brings the broker from what it keeps to what is so. */
async function tellAll(state: TellerState, signal: AbortSignal): Promise<void> {
  const { kind, dialect, base, store, readHouse } = state.parts;
  state.isStale = false;
  state.readMs = state.parts.clock.monotonic();
  try {
    state.kept ??= await store.topics(kind);
    const { kept, presence } = state;
    state.heard = [];
    const house = await readHouse();
    const { heard } = state;
    state.heard = null;
    const picture = dialect.draw(house, base);
    state.picture = picture;
    state.known.devices = new Map(
      house.devices.map((device) => [device.id, { state: device.state, isOnline: device.isOnline }]),
    );
    // It may be newer than what was read.
    for (const event of heard) follow(state, event);
    const wanted = new Map<string, Kept>();
    const want = (message: Kept | null): void => void (message !== null && wanted.set(message.topic, message));
    for (const device of house.devices) {
      want(picture.state(device.id, device.state));
      want(picture.status(device.id, device.isOnline));
    }
    // What makes a device known comes after how it is.
    for (const message of picture.fixed((topic) => kept.get(topic) ?? {})) want(message);
    want({ topic: presence.topic, payload: presence.online });
    await keepTopics(state, wanted);
    // A topic that another device has now is not emptied after it was told.
    const gone = [...kept.keys()].filter((topic) => !wanted.has(topic));
    await each(gone, signal, (topic) => empty(state, topic));
    await each([...wanted.values()], signal, (message) => tell(state, message));
  } catch (error) {
    state.isStale = true;
    throw error;
  }
}

/** Stored before it is published: after a power cut it is known what the broker may keep. */
async function keepTopics(
  { parts: { kind, store }, kept }: TellerState,
  wanted: ReadonlyMap<string, Kept>,
): Promise<void> {
  const changed = new Map<string, Parts>();
  for (const { topic, parts = {} } of wanted.values()) {
    const before = kept?.get(topic);
    if (before === undefined || JSON.stringify(before) !== JSON.stringify(parts)) changed.set(topic, parts);
  }
  if (changed.size === 0) return;
  await store.keep(kind, changed);
  for (const [topic, parts] of changed) kept?.set(topic, parts);
}

async function tellDevice(state: TellerState, deviceId: string): Promise<void> {
  const { picture, known } = state;
  const device = known.devices.get(deviceId);
  if (picture === null || device === undefined) return;
  // Its topics are stored with the device.
  const isStored = (message: Kept | null): message is Kept =>
    message !== null && state.kept?.has(message.topic) === true;
  const how = picture.state(deviceId, device.state);
  const status = picture.status(deviceId, device.isOnline);
  if (isStored(how)) await tell(state, how, 'reported');
  if (isStored(status)) await tell(state, status);
}

async function tell({ parts, told }: TellerState, { topic, payload }: Message, cause?: 'reported'): Promise<void> {
  const mark = hash('sha1', payload);
  const before = told.get(topic);
  const atMs = parts.clock.monotonic();
  const isDue = cause === 'reported' && before !== undefined && atMs - before.atMs >= repeatMs;
  if (before?.mark === mark && !isDue) return;
  await parts.link.publish(topic, payload, true);
  told.set(topic, { mark, atMs });
}

async function empty({ parts, told, kept }: TellerState, topic: string): Promise<void> {
  const { mayRead } = parts.dialect.rights(parts.base, parts.stationId);
  // The station has no right to the topics of a station id that it had before.
  if (mayRead.some((filter) => coversTopics(filter, topic))) await parts.link.publish(topic, '', true);
  told.delete(topic);
  await parts.store.forget(parts.kind, topic);
  kept?.delete(topic);
}

async function clear(state: TellerState): Promise<void> {
  const { kind, store } = state.parts;
  state.kept ??= await store.topics(kind);
  await each([...state.kept.keys()], new AbortController().signal, (topic) => empty(state, topic));
}

/** Some at a time. @throws (rejects) with the first failure. */
async function each<T>(items: readonly T[], signal: AbortSignal, work: (item: T) => Promise<void>): Promise<void> {
  for (let from = 0; from < items.length; from += inflight) {
    signal.throwIfAborted();
    await Promise.all(items.slice(from, from + inflight).map(work));
  }
}
