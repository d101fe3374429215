import { Variant } from '@jellybrick/dbus-next';
import {
  improvCommandUuid,
  improvServiceUuid,
  maxPayloadBytes,
  type BleError,
  type ConnectAndWrite,
  type HelperNote,
} from '@station/protocol/ble-frames';
import type { Clock } from '@station/kit/clock';
import { BusError } from '@station/kit/message-bus';
import { deviceOf, devicePath, findCharacteristic, interfaces } from './bluez-objects.ts';
import { removeDevice, type Bluez } from './bluez.ts';
import { abortable, endAfter, GivenUp, waitFor } from './giving-up.ts';
import { improvCommand } from './improv-decide.ts';
import { provisionByImprov, type ImprovMemory } from './improv.ts';
import type { Scan } from './scan.ts';
import { decideNextTry, failureOfCall, type Failure } from './write-decide.ts';

/** Milliseconds, and a number of tries. */
export type WriteLimits = {
  /** From the time that the operation is taken up to its result, whatever hangs. */
  budgetMs: number;
  /** Wait for a radio that is not ready: bluetoothd may be restarting. */
  radioMs: number;
  /** Search for a device that BlueZ does not know (any more). */
  searchMs: number;
  connectMs: number;
  /** Until the services of a connected device are known. */
  servicesMs: number;
  /** Objects of characteristics may come after BlueZ says that the services are known (bluez#1489). */
  objectsMs: number;
  writeMs: number;
  /** Time for a person to press the button of an Improv device that asks for it. */
  authorizeMs: number;
  /** To end the link after the result. */
  tidyMs: number;
  tries: number;
  firstRetryMs: number;
};

/** The result comes 1.5 s before the backend stops waiting (`writeResultWithinMs`). */
export const usualWriteLimits: WriteLimits = {
  budgetMs: 43_500,
  radioMs: 5000,
  searchMs: 15_000,
  connectMs: 10_000,
  servicesMs: 10_000,
  objectsMs: 1000,
  writeMs: 12_000,
  authorizeMs: 5000,
  tidyMs: 4000,
  tries: 4,
  firstRetryMs: 250,
};

type Parts = { bluez: Bluez; scan: Scan; clock: Clock; limits: WriteLimits; note: (note: HelperNote) => void };

export type Operation = {
  /** Null: written. */
  result: Promise<BleError | null>;
  /** Resolves when the link has ended: the next operation may begin. */
  ended: Promise<void>;
};

/**
 * Connects to a device, writes, and disconnects, with retries. The result always comes; `ended` rejects with a surprise.
 * @param ending ends the operation. Its reason is a `GivenUp`.
 */
export function connectAndWrite(parts: Parts, command: ConnectAndWrite, ending: AbortSignal): Operation {
  const result = Promise.withResolvers<BleError | null>();
  const run = async (): Promise<void> => {
    const bytes = bytesOf(command);
    if (bytes === null) return result.resolve('payload_invalid');
    const { clock, limits } = parts;
    const done = new AbortController();
    const budget = endAfter(clock, limits.budgetMs, { error: 'timed_out', next: 'give_up' }, done.signal);
    const signal = AbortSignal.any([budget, ending]);
    const memory = { hadWritten: false };
    const none = { used: new Set<string>(), paused: null, restarting: Promise.resolve() };
    const operation: Running = { ...parts, command, bytes, signal, memory, ...none };
    try {
      result.resolve(await tryRepeatedly(operation));
    } finally {
      // A surprise: the process says so, and the backend still gets its answer.
      result.resolve('write_failed');
      done.abort();
      await operation.restarting;
      await forget(operation, limits.tidyMs);
      // Not before: a discovery that runs would not report the device again (controllers filter duplicates).
      resumeScan(operation);
    }
  };
  return { result: result.promise, ended: run() };
}

const isImprov = ({ service_uuid, characteristic_uuid }: ConnectAndWrite): boolean =>
  service_uuid === improvServiceUuid && characteristic_uuid === improvCommandUuid;

/** @returns null when the payload cannot be written. */
function bytesOf(command: ConnectAndWrite): Uint8Array | null {
  if (isImprov(command)) return improvCommand(command.payload);
  const bytes = new TextEncoder().encode(command.payload);
  return bytes.length <= maxPayloadBytes ? bytes : null;
}

type Running = Parts & {
  command: ConnectAndWrite;
  bytes: Uint8Array;
  signal: AbortSignal;
  memory: ImprovMemory;
  /** Objects of the device that were connected to: one for each adapter. */
  used: Set<string>;
  /** Discovery stops before the first connection, and for all tries. */
  paused: Disposable | null;
  /** The radio is off meanwhile. */
  restarting: Promise<void>;
};

function resumeScan(operation: Running): void {
  operation.paused?.[Symbol.dispose]();
  operation.paused = null;
}

async function tryRepeatedly(operation: Running): Promise<BleError | null> {
  const { clock, limits, signal } = operation;
  let hasForgotten = false;
  let unanswered: number | null = 0;
  let last: Failure = { error: 'timed_out', next: 'give_up' };
  for (let tried = 1; ; tried += 1) {
    const failure = await tryOnce(operation);
    if (failure === null) return null;
    // The budget's end says less than what went wrong before.
    if (failure.error === 'timed_out' && signal.aborted && tried > 1) return last.error;
    last = failure;
    if (unanswered !== null && failure.next === 'restart_radio') unanswered += 1;
    operation.note({ note: 'log', message: `write: try ${tried}: ${failure.error}` });
    const next = decideNextTry(failure, {
      tried,
      tries: limits.tries,
      firstRetryMs: limits.firstRetryMs,
      hasForgotten,
      unanswered,
    });
    if (next.kind === 'end') return next.error;
    if (next.first === 'forget') await forget(operation, limits.tidyMs);
    else await disconnect(operation);
    if (next.first === 'restart_radio') {
      // The result does not wait for it, only the end.
      operation.restarting = restartRadio(operation);
      await abortable(operation.restarting, signal).catch(() => undefined);
      unanswered = null;
    }
    hasForgotten ||= next.first === 'forget';
    await clock.sleep(next.waitMs, signal).catch(() => undefined);
  }
}

/** @returns null: written. */
async function tryOnce(operation: Running): Promise<Failure | null> {
  const { scan, signal } = operation;
  let step: 'connect' | 'write' = 'connect';
  try {
    signal.throwIfAborted();
    const adapter = await readyAdapter(operation);
    const device = await findDevice(operation, adapter);
    operation.paused ??= await scan.pause(signal);
    operation.used.add(device);
    using link = watchLink(operation.bluez, device);
    await connect(operation, device);
    step = 'write';
    return await overLink(operation, device, link.lost);
  } catch (error) {
    if (error instanceof GivenUp) return error.failure;
    if (error instanceof BusError) return failureOfCall(step, error.errorName);
    throw error;
  }
}

/** Path of the adapter, once the radio is ready. */
async function readyAdapter({ bluez, scan, clock, limits, signal }: Running): Promise<string> {
  const ready = (): string | null => {
    const radio = scan.radio();
    return radio?.state === 'ready' ? (radio.adapter?.path ?? null) : null;
  };
  const stateNow = (): Failure => {
    const state = scan.radio()?.state ?? 'bluetooth_stopped';
    return { error: state === 'ready' ? 'timed_out' : state, next: 'give_up' };
  };
  return waitFor({ clock, ms: limits.radioMs, signal, failure: stateNow }, (limit) => bluez.until(ready, limit));
}

/** Path of the device's object. BlueZ makes one when the device advertises. */
async function findDevice(operation: Running, adapter: string): Promise<string> {
  const { bluez, scan, clock, limits, signal, command } = operation;
  const path = devicePath(adapter, command.address);
  const known = (): string | null => (deviceOf(bluez.tree, path) === null ? null : path);
  if (known() !== null) return path;
  resumeScan(operation);
  using _searching = scan.search(command.service_uuid);
  const failure: Failure = { error: 'not_found', next: 'give_up' };
  return await waitFor({ clock, ms: limits.searchMs, signal, failure: () => failure }, (limit) =>
    bluez.until(known, limit),
  );
}

const alreadyConnected = 'org.bluez.Error.AlreadyConnected';

async function connect({ bluez, limits, signal }: Running, device: string): Promise<void> {
  try {
    await abortable(bluez.call(device, interfaces.device, 'Connect', { timeoutMs: limits.connectMs }), signal);
  } catch (error) {
    if (!(error instanceof BusError && error.errorName === alreadyConnected)) throw error;
  }
}

/** What is done over the link, which may be lost at any time. */
async function overLink(operation: Running, device: string, lost: AbortSignal): Promise<Failure | null> {
  const signal = AbortSignal.any([operation.signal, lost]);
  const { bluez, clock, limits, command } = operation;
  const resolved = (): true | null => deviceOf(bluez.tree, device)?.['ServicesResolved'] === true || null;
  const late: Failure = { error: 'timed_out', next: 'retry' };
  await waitFor({ clock, ms: limits.servicesMs, signal, failure: () => late }, (limit) => bluez.until(resolved, limit));

  const uuids = { service: command.service_uuid, characteristic: command.characteristic_uuid };
  const find = () => findCharacteristic(bluez.tree, device, uuids);
  const missing = (): Failure => {
    const found = find();
    const isService = 'missing' in found && found.missing === 'service';
    return { error: isService ? 'service_missing' : 'characteristic_missing', next: 'rediscover' };
  };
  const characteristic = await waitFor({ clock, ms: limits.objectsMs, signal, failure: missing }, (limit) =>
    bluez.until(() => {
      const found = find();
      return 'path' in found ? found.path : null;
    }, limit),
  );
  const write = (path: string): Promise<void> => writeValue(operation, path, signal);
  if (!isImprov(command)) {
    await write(characteristic);
    return null;
  }
  const { memory } = operation;
  return provisionByImprov({ bluez, device, memory, write, clock, authorizeMs: limits.authorizeMs, signal });
}

/**
 * `lost` aborts when BlueZ says that the link has ended. Only then: BlueZ may say nothing when it begins (seen with 5.66), so that the
 * device looks disconnected all the time.
 */
function watchLink(bluez: Bluez, device: string): Disposable & { lost: AbortSignal } {
  const lost = new AbortController();
  const listening = bluez.listen((change) => {
    const isOther = change.kind !== 'reset' && change.path !== device;
    const isOfLink = change.kind !== 'changed' || change.keys.includes('Connected');
    if (isOther || !isOfLink || deviceOf(bluez.tree, device)?.['Connected'] === true) return;
    lost.abort(new GivenUp(lossOf(bluez)));
  });
  return { lost: lost.signal, [Symbol.dispose]: () => listening[Symbol.dispose]() };
}

const lossOf = (bluez: Bluez): Failure =>
  bluez.isRunning() === true ? { error: 'disconnected', next: 'retry' } : { error: 'bluetooth_stopped', next: 'retry' };

/** With a response; BlueZ splits what is longer than a packet (long write). */
async function writeValue({ bluez, bytes, limits }: Running, path: string, signal: AbortSignal): Promise<void> {
  const options = { type: new Variant('s', 'request') };
  const call = { signature: 'aya{sv}', body: [Buffer.from(bytes), options], timeoutMs: limits.writeMs };
  await abortable(bluez.call(path, interfaces.characteristic, 'WriteValue', call), signal);
}

/** Ends the links, and waits until BlueZ says so: it refuses a connection while it still ends the one before. */
async function disconnect({ bluez, clock, limits, signal, used }: Running): Promise<void> {
  for (const device of used) {
    if (deviceOf(bluez.tree, device) === null) continue;
    const isEnded = (): true | null => deviceOf(bluez.tree, device)?.['Connected'] !== true || null;
    const ending = abortable(bluez.call(device, interfaces.device, 'Disconnect', { timeoutMs: limits.tidyMs }), signal);
    await ending.catch(() => undefined);
    const failure: Failure = { error: 'timed_out', next: 'retry' };
    await waitFor({ clock, ms: limits.tidyMs, signal, failure: () => failure }, (limit) =>
      bluez.until(isEnded, limit),
    ).catch(() => undefined);
  }
}

/**
 * Switches the radio off and on: a controller can be stuck, and then hears devices but connects to none. Not while it has a link that is not
 * ours. It is switched on again whatever ends the operation.
 */
async function restartRadio({ bluez, scan, clock, limits, note }: Running): Promise<void> {
  const adapter = scan.radio()?.adapter?.path;
  const isLinked = [...bluez.tree].some(([path, all]) => {
    return path.startsWith(`${adapter}/`) && all[interfaces.device]?.['Connected'] === true;
  });
  if (adapter === undefined || isLinked) return;
  note({ note: 'log', message: 'the radio is switched off and on: connections get no answer' });
  const isSet = (value: boolean): Promise<boolean> =>
    bluez.set(adapter, interfaces.adapter, 'Powered', new Variant('b', value)).then(
      () => true,
      () => false,
    );
  if (!(await isSet(false))) return;
  const endMs = clock.monotonic() + limits.radioMs;
  while (!(await isSet(true)) && clock.monotonic() < endMs) await clock.sleep(limits.firstRetryMs);
}

/** Ends the links and makes BlueZ forget the device, which otherwise keeps its services. One that a person has paired stays. */
async function forget({ bluez, used }: Running, timeoutMs: number): Promise<void> {
  const work = [...used].map(async (device) => {
    const { Paired, Trusted, Connected } = deviceOf(bluez.tree, device) ?? {};
    if (Connected === undefined) return;
    await bluez.call(device, interfaces.device, 'Disconnect', { timeoutMs }).catch(() => undefined);
    if (Paired === true || Trusted === true) return;
    const adapter = device.slice(0, device.lastIndexOf('/'));
    await removeDevice(bluez, adapter, device, timeoutMs).catch(() => undefined);
  });
  await Promise.all(work);
}
