import { Variant } from '@jellybrick/dbus-next';
import { improvServiceUuid, type HelperEvent, type HelperNote, type RadioState } from '@station/protocol/ble-frames';
import type { Clock } from '@station/kit/clock';
import { createEmitter, type Emitter } from '@station/kit/emitter';
import { BusError } from '@station/kit/message-bus';
import { runLoop } from '@station/kit/loop';
import { createRepeatFilter, type RepeatFilter } from '@station/kit/repeat-filter';
import { createBackoff } from '@station/kit/retry';
import { createWaker, type Waker } from '@station/kit/wakeable';
import { decideReport, discoveredOf, isAdvertisement, isAdvertising, type Sent } from './advertisement-decide.ts';
import { deviceOf, interfaces } from './bluez-objects.ts';
import { removeDevice, type Bluez, type BluezChange } from './bluez.ts';
import {
  adaptersOf,
  chooseAdapter,
  decideScan,
  findLeftover,
  radioStateOf,
  type AdapterFacts,
  type ScanFacts,
  type ScanStep,
} from './radio-decide.ts';

export type Scan = AsyncDisposable & {
  /** Looks for devices that advertise this service or Improv's, until `stop`, whatever happens to the radio. */
  start(serviceUuid: string): void;
  stop(): void;
  /** State of the radio and the adapter that is used; null before the first answer of the bus. */
  radio(): { state: RadioState; adapter: AdapterFacts | null } | null;
  /** Stops discovery until disposed; resolves when it has stopped. @throws the signal's reason. */
  pause(signal: AbortSignal): Promise<Disposable>;
  /** Looks for devices until disposed, also when nobody has started the scan. */
  search(serviceUuid: string): Disposable;
};

type Options = {
  bluez: Bluez;
  clock: Clock;
  /** Name of the adapter (`hci0`); null: the best one. */
  adapter: string | null;
  stallMs: number;
  send: (event: HelperEvent) => void;
  note: (note: HelperNote) => void;
};

/** BlueZ answers this to a second StartDiscovery of a client, and after a start that failed. */
const inProgress = 'org.bluez.Error.InProgress';
const blockedByRfkill = 'org.bluez.Error.Blocked';

type State = {
  /** What `start` asked for; null: stopped. */
  wantedUuid: string | null;
  /** Services that are looked for without `start`. */
  searches: string[];
  pauses: number;
  session: ScanFacts['session'];
  isStepping: boolean;
  /** Whether `scan_started` was the last word. */
  isShown: boolean;
  told: RadioState | null;
  /** Looked at once, before the first discovery: later links are our own. */
  isFresh: boolean;
  /** Adapters that were switched on once. */
  triedPower: Set<string>;
  /** Adapters that rfkill blocks. */
  blocked: Set<string>;
  /** What was last reported of each device, by its path. */
  sent: Map<string, Sent>;
};

type Parts = Options & {
  waker: Waker;
  /** After each step. */
  stepped: Emitter<void>;
  filter: RepeatFilter;
  state: State;
};

/** Keeps discovery as it is wanted: observe → decide → one step at a time. */
export function createScan(options: Options): Scan {
  const { bluez, clock, send, note } = options;
  const state: State = {
    wantedUuid: null,
    searches: [],
    pauses: 0,
    session: null,
    isStepping: false,
    isShown: false,
    told: null,
    isFresh: true,
    triedPower: new Set(),
    blocked: new Set(),
    sent: new Map(),
  };
  const waker = createWaker(clock);
  // A neighbour may make up ten thousand addresses a second.
  const parts: Parts = { ...options, waker, stepped: createEmitter<void>(), filter: createRepeatFilter(), state };
  const ending = new AbortController();
  const listening = bluez.listen((change) => onChange(parts, change));
  const running = runLoop({
    turn: () => turn(parts),
    waker,
    clock,
    signal: ending.signal,
    backoff: createBackoff({ initialMs: 250, maxMs: 5000, jitter: 0, random: Math.random }),
    onFailure: ({ error }) => note({ note: 'log', message: `scan: ${nameOf(error)}` }),
  });
  return {
    start: (serviceUuid) => {
      state.wantedUuid = serviceUuid;
      state.triedPower.clear();
      if (state.isShown) send({ event: 'scan_started' });
      state.sent.clear();
      tell(parts);
      waker.wake();
    },
    stop: () => {
      state.wantedUuid = null;
      if (!state.isShown) send({ event: 'scan_stopped' });
      waker.wake();
    },
    radio: () => radioOf(parts),
    pause: (signal) => pause(parts, signal),
    search: (serviceUuid) => {
      state.searches.push(serviceUuid);
      waker.wake();
      return {
        [Symbol.dispose]: () => {
          state.searches.splice(state.searches.indexOf(serviceUuid), 1);
          waker.wake();
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      const last = state.session;
      ending.abort();
      listening[Symbol.dispose]();
      if (last !== null) await bluez.call(last.adapter, interfaces.adapter, 'StopDiscovery').catch(() => undefined);
      await running;
      lose(state);
      tell(parts);
    },
  };
}

function radioOf({ bluez, adapter: name, state }: Parts): ReturnType<Scan['radio']> {
  const isRunning = bluez.isRunning();
  if (isRunning === null) return null;
  const adapter = chooseAdapter(adaptersOf(bluez.tree, state.blocked), name);
  return { state: radioStateOf(isRunning, adapter), adapter };
}

function wantedBy({ pauses, wantedUuid, searches }: State): readonly string[] | null {
  const uuid = pauses > 0 ? null : (wantedUuid ?? searches[0] ?? null);
  return uuid === null ? null : [...new Set([uuid, improvServiceUuid])];
}

function lose(state: State): void {
  state.session = null;
  state.sent.clear();
}

/** Tells what has changed since the last time. */
function tell(parts: Parts): void {
  const { state, send, note } = parts;
  const radio = radioOf(parts)?.state ?? null;
  if (radio !== null && radio !== state.told) note({ note: 'radio', state: radio });
  state.told = radio ?? state.told;
  const isShown = state.session !== null && (state.wantedUuid !== null || state.isShown);
  if (isShown !== state.isShown) send({ event: isShown ? 'scan_started' : 'scan_stopped' });
  state.isShown = isShown;
}

type Executors = { [K in ScanStep['kind']]: (parts: Parts, step: Extract<ScanStep, { kind: K }>) => Promise<number> };

/** Each resolves with the time until the next look. */
const executors: Executors = {
  wait: async (_, { ms }) => ms,
  power_on: async ({ bluez, state }, { adapter }) => {
    state.triedPower.add(adapter);
    try {
      await bluez.set(adapter, interfaces.adapter, 'Powered', new Variant('b', true));
    } catch (error) {
      if (error instanceof BusError && error.errorName === blockedByRfkill) state.blocked.add(adapter);
      else throw error;
    }
    return 0;
  },
  disconnect: async ({ bluez, state }, { adapter, device }) => {
    await bluez.call(device, interfaces.device, 'Disconnect').catch(() => undefined);
    await removeDevice(bluez, adapter, device).catch(() => undefined);
    // One that does not end is not tried again and again.
    state.isFresh = deviceOf(bluez.tree, device)?.['Connected'] !== true;
    return 0;
  },
  start: async (parts, { adapter, uuids }) => {
    const { bluez, clock, state } = parts;
    state.isFresh = false;
    await startDiscovery(bluez, adapter, uuids);
    state.session = { adapter, uuids, lastEventMs: clock.monotonic() };
    tell(parts);
    // Those that were found before the answer was looked at, or by another client.
    for (const path of bluez.tree.keys()) report(parts, path);
    return 0;
  },
  stop: async ({ bluez, state }, { adapter }) => {
    try {
      await bluez.call(adapter, interfaces.adapter, 'StopDiscovery');
    } finally {
      lose(state);
    }
    return 0;
  },
};

async function turn(parts: Parts): Promise<number> {
  const { bluez, clock, state, stallMs, stepped } = parts;
  state.isStepping = true;
  try {
    const { state: radio, adapter } = radioOf(parts) ?? { state: 'bluetooth_stopped' as const, adapter: null };
    const wanted = wantedBy(state);
    const step = decideScan({
      nowMs: clock.monotonic(),
      state: radio,
      adapter,
      wanted,
      session: state.session,
      hasTriedPower: adapter !== null && state.triedPower.has(adapter.path),
      leftover:
        state.isFresh && adapter !== null && wanted !== null ? findLeftover(bluez.tree, adapter.path, wanted) : null,
      stallMs,
    });
    const execute = executors[step.kind] as (parts: Parts, step: ScanStep) => Promise<number>;
    return await execute(parts, step);
  } finally {
    state.isStepping = false;
    tell(parts);
    stepped.emit();
  }
}

function report({ bluez, clock, state, filter, send }: Parts, path: string): void {
  const { session, wantedUuid, sent } = state;
  const device = deviceOf(bluez.tree, path);
  if (session === null || wantedUuid === null || device === null || !path.startsWith(`${session.adapter}/`)) return;
  // Without it, BlueZ knows the device but does not receive it.
  if (device['RSSI'] === undefined) return;
  const frame = discoveredOf(device, (bytes) => Buffer.from(bytes).toString('base64'));
  if (frame === null || !isAdvertising(frame, session.uuids)) return;
  const due = decideReport(frame, sent.get(path), clock.monotonic());
  if (due === null) return;
  // Frames of one device replace each other while nobody reads, so the latest of a known one is never refused.
  if (!sent.has(path) && !filter.admits(frame.address, clock.monotonic(), false)) return;
  sent.set(path, due);
  send(frame);
}

function onChange(parts: Parts, change: BluezChange): void {
  const { state, waker } = parts;
  if (change.kind === 'changed') {
    if (change.interface === interfaces.device) return onDevice(parts, change);
    if (change.interface !== interfaces.adapter) return;
    onAdapter(parts, change);
  } else if (change.kind === 'reset') {
    lose(state);
    state.triedPower.clear();
    state.blocked.clear();
  } else {
    state.sent.delete(change.path);
    state.triedPower.delete(change.path);
    state.blocked.delete(change.path);
    if (state.session?.adapter === change.path) lose(state);
    else if (deviceOnly.test(change.path)) return;
  }
  tell(parts);
  waker.wake();
}

function onDevice(parts: Parts, { path, keys }: { path: string; keys: string[] }): void {
  const { state, clock } = parts;
  if (state.session === null || !isAdvertisement(keys)) return;
  state.session = { ...state.session, lastEventMs: clock.monotonic() };
  report(parts, path);
}

function onAdapter({ bluez, state }: Parts, { path, keys }: { path: string; keys: string[] }): void {
  const adapter = bluez.tree.get(path)?.[interfaces.adapter];
  if (keys.includes('Powered') || keys.includes('PowerState')) state.blocked.delete(path);
  if (state.session?.adapter !== path) return;
  // BlueZ ends discovery when the adapter is switched off.
  const isEnded = keys.includes('Discovering') && adapter?.['Discovering'] === false && !state.isStepping;
  if (isEnded || adapter?.['Powered'] === false) lose(state);
}

async function pause(parts: Parts, signal: AbortSignal): Promise<Disposable> {
  const { state, waker } = parts;
  state.pauses += 1;
  const resume = (): void => {
    state.pauses -= 1;
    if (state.pauses === 0) waker.wake();
  };
  try {
    waker.wake();
    await untilIdle(parts, signal);
    signal.throwIfAborted();
  } catch (error) {
    resume();
    throw error;
  }
  return { [Symbol.dispose]: resume };
}

/** Resolves when nothing is discovered and no step is under way, or when the signal aborts. */
async function untilIdle({ state, stepped }: Parts, signal: AbortSignal): Promise<void> {
  const reached = Promise.withResolvers<void>();
  const check = (): void => (state.session === null && !state.isStepping ? reached.resolve() : undefined);
  const onAbort = (): void => reached.resolve();
  using _listening = stepped.subscribe(check);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  check();
  await reached.promise;
  signal.removeEventListener('abort', onAbort);
}

/** An object below an adapter. */
const deviceOnly = /\/hci\d+\//;

async function startDiscovery(bluez: Bluez, adapter: string, uuids: readonly string[]): Promise<void> {
  const filter = {
    UUIDs: new Variant('as', [...uuids]),
    Transport: new Variant('s', 'le'),
    // Otherwise BlueZ is silent about a device whose advertisement stays the same.
    DuplicateData: new Variant('b', true),
  };
  await bluez.call(adapter, interfaces.adapter, 'SetDiscoveryFilter', { signature: 'a{sv}', body: [filter] });
  try {
    await bluez.call(adapter, interfaces.adapter, 'StartDiscovery');
  } catch (error) {
    // The next try begins from a known state.
    if (error instanceof BusError && error.errorName === inProgress)
      await bluez.call(adapter, interfaces.adapter, 'StopDiscovery').catch(() => undefined);
    throw error;
  }
}

/** Name of a bus error; the text of an error is not repeated. */
export const nameOf = (error: unknown): string =>
  error instanceof BusError ? error.errorName : error instanceof Error ? error.name : 'unknown error';
