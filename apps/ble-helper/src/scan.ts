import { Variant } from '@jellybrick/dbus-next';
import { improvServiceUuid, type HelperEvent, type HelperNote, type RadioState } from '@station/protocol/ble-frames';
import type { Clock } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import { BusError } from '@station/kit/message-bus';
import { runLoop } from '@station/kit/loop';
import { createRepeatFilter } from '@station/kit/repeat-filter';
import { createBackoff } from '@station/kit/retry';
import { createWaker } from '@station/kit/wakeable';
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

/** Keeps discovery as it is wanted: observe → decide → one step at a time. */
export function createScan(options: Options): Scan {
  const { bluez, clock, send, note } = options;
  const ending = new AbortController();
  const waker = createWaker(clock);
  const stepped = createEmitter<void>();
  const sent = new Map<string, Sent>();
  /** A neighbour may make up ten thousand addresses a second. */
  const filter = createRepeatFilter();
  const searches: string[] = [];
  const triedPower = new Set<string>();
  const blocked = new Set<string>();
  let wantedUuid: string | null = null;
  let pauses = 0;
  let session: ScanFacts['session'] = null;
  let isStepping = false;
  let isShown = false;
  let told: RadioState | null = null;
  // Looked at once, before the first discovery: later links are our own.
  let isFresh = true;

  const radio: Scan['radio'] = () => {
    const isRunning = bluez.isRunning();
    if (isRunning === null) return null;
    const adapter = chooseAdapter(adaptersOf(bluez.tree, blocked), options.adapter);
    return { state: radioStateOf(isRunning, adapter), adapter };
  };
  const wanted = (): readonly string[] | null => {
    const uuid = pauses > 0 ? null : (wantedUuid ?? searches[0] ?? null);
    return uuid === null ? null : [...new Set([uuid, improvServiceUuid])];
  };
  /** Tells what has changed since the last time. */
  const tell = (): void => {
    const state = radio()?.state ?? null;
    if (state !== null && state !== told) note({ note: 'radio', state });
    told = state ?? told;
    const nowShown = session !== null && (wantedUuid !== null || isShown);
    if (nowShown !== isShown) send({ event: nowShown ? 'scan_started' : 'scan_stopped' });
    isShown = nowShown;
  };
  const lose = (): void => {
    session = null;
    sent.clear();
  };

  const steps: { [K in ScanStep['kind']]: (step: Extract<ScanStep, { kind: K }>) => Promise<number> } = {
    wait: async ({ ms }) => ms,
    power_on: async ({ adapter }) => {
      triedPower.add(adapter);
      try {
        await bluez.set(adapter, interfaces.adapter, 'Powered', new Variant('b', true));
      } catch (error) {
        if (error instanceof BusError && error.errorName === blockedByRfkill) blocked.add(adapter);
        else throw error;
      }
      return 0;
    },
    disconnect: async ({ adapter, device }) => {
      await bluez.call(device, interfaces.device, 'Disconnect').catch(() => undefined);
      await removeDevice(bluez, adapter, device).catch(() => undefined);
      // One that does not end is not tried again and again.
      isFresh = deviceOf(bluez.tree, device)?.['Connected'] !== true;
      return 0;
    },
    start: async ({ adapter, uuids }) => {
      isFresh = false;
      await startDiscovery(bluez, adapter, uuids);
      session = { adapter, uuids, lastEventMs: clock.monotonic() };
      tell();
      // Those that were found before the answer was looked at, or by another client.
      for (const path of bluez.tree.keys()) report(path);
      return 0;
    },
    stop: async ({ adapter }) => {
      try {
        await bluez.call(adapter, interfaces.adapter, 'StopDiscovery');
      } finally {
        lose();
      }
      return 0;
    },
  };
  const turn = async (): Promise<number> => {
    isStepping = true;
    try {
      const { state, adapter } = radio() ?? { state: 'bluetooth_stopped' as const, adapter: null };
      const hasTriedPower = adapter !== null && triedPower.has(adapter.path);
      const uuids = wanted();
      const leftover =
        isFresh && adapter !== null && uuids !== null ? findLeftover(bluez.tree, adapter.path, uuids) : null;
      const facts = { nowMs: clock.monotonic(), state, adapter, wanted: uuids, session, hasTriedPower, leftover };
      const step = decideScan({ ...facts, stallMs: options.stallMs });
      const execute = steps[step.kind] as (step: ScanStep) => Promise<number>;
      return await execute(step);
    } finally {
      isStepping = false;
      tell();
      stepped.emit();
    }
  };

  const report = (path: string): void => {
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
  };
  const onDevice = ({ path, keys }: { path: string; keys: string[] }): void => {
    if (session === null || !isAdvertisement(keys)) return;
    session = { ...session, lastEventMs: clock.monotonic() };
    report(path);
  };
  const onAdapter = ({ path, keys }: { path: string; keys: string[] }): void => {
    const adapter = bluez.tree.get(path)?.[interfaces.adapter];
    if (keys.includes('Powered') || keys.includes('PowerState')) blocked.delete(path);
    if (session?.adapter !== path) return;
    // BlueZ ends discovery when the adapter is switched off.
    const isEnded = keys.includes('Discovering') && adapter?.['Discovering'] === false && !isStepping;
    if (isEnded || adapter?.['Powered'] === false) lose();
  };
  const onChange = (change: BluezChange): void => {
    if (change.kind === 'changed' && change.interface === interfaces.device) return onDevice(change);
    if (change.kind === 'changed' && change.interface === interfaces.adapter) onAdapter(change);
    else if (change.kind === 'changed') return;
    else if (change.kind === 'reset') {
      lose();
      triedPower.clear();
      blocked.clear();
    } else {
      sent.delete(change.path);
      triedPower.delete(change.path);
      blocked.delete(change.path);
      if (session?.adapter === change.path) lose();
      else if (deviceOnly.test(change.path)) return;
    }
    tell();
    waker.wake();
  };
  const listening = bluez.listen(onChange);
  const running = runLoop({
    turn,
    waker,
    clock,
    signal: ending.signal,
    backoff: createBackoff({ initialMs: 250, maxMs: 5000, jitter: 0, random: Math.random }),
    onFailure: ({ error }) => note({ note: 'log', message: `scan: ${nameOf(error)}` }),
  });

  return {
    start: (serviceUuid) => {
      wantedUuid = serviceUuid;
      triedPower.clear();
      if (isShown) send({ event: 'scan_started' });
      sent.clear();
      tell();
      waker.wake();
    },
    stop: () => {
      wantedUuid = null;
      if (!isShown) send({ event: 'scan_stopped' });
      waker.wake();
    },
    radio,
    pause: async (signal) => {
      pauses += 1;
      const resume = { [Symbol.dispose]: () => (pauses -= 1) === 0 && waker.wake() };
      try {
        waker.wake();
        await idle();
        signal.throwIfAborted();
      } catch (error) {
        resume[Symbol.dispose]();
        throw error;
      }
      return { [Symbol.dispose]: () => void resume[Symbol.dispose]() };

      async function idle(): Promise<void> {
        const reached = Promise.withResolvers<void>();
        const check = (): void => (session === null && !isStepping ? reached.resolve() : undefined);
        const onAbort = (): void => reached.resolve();
        using _listening = stepped.subscribe(check);
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) onAbort();
        check();
        await reached.promise;
        signal.removeEventListener('abort', onAbort);
      }
    },
    search: (serviceUuid) => {
      searches.push(serviceUuid);
      waker.wake();
      return {
        [Symbol.dispose]: () => {
          searches.splice(searches.indexOf(serviceUuid), 1);
          waker.wake();
        },
      };
    },
    [Symbol.asyncDispose]: async () => {
      const last = session;
      ending.abort();
      listening[Symbol.dispose]();
      if (last !== null) await bluez.call(last.adapter, interfaces.adapter, 'StopDiscovery').catch(() => undefined);
      await running;
      lose();
      tell();
    },
  };
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
