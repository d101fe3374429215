import { once } from 'node:events';
import { Message, MessageFlag, sessionBus, Variant, type MessageBus } from '@jellybrick/dbus-next';
import type { Clock } from './clock.ts';
import { createEmitter } from './emitter.ts';
import { createBackoff } from './retry.ts';
import {
  authenticateBySocket,
  authMethods,
  destroyConnection,
  forgetCall,
  onConnectionEnd,
} from './message-bus-socket.ts';

export const systemBusAddress = 'unix:path=/run/dbus/system_bus_socket';

/** A signal as it came in, with variants unpacked (see `plain`). */
export type BusSignal = {
  path: string;
  interface: string;
  member: string;
  body: readonly unknown[];
};

export type BusCall = {
  destination: string;
  path: string;
  interface: string;
  member: string;
  /** D-Bus type signature of `body`; none when there are no arguments. */
  signature?: string;
  body?: unknown[];
  /** Replaces `callMs` of the bus. */
  timeoutMs?: number;
  /** Lets the bus start the service: some run only while they are used. */
  mayStart?: boolean;
};

/** D-Bus specification, "Error names": the answer to a call when the program does not run. */
const nobodyThere: readonly string[] = [
  'station.Lost',
  'org.freedesktop.DBus.Error.ServiceUnknown',
  'org.freedesktop.DBus.Error.NameHasNoOwner',
];

/** A call that failed. `errorName` is the bus error's name, or one of ours: `station.Lost`, `station.TimedOut`. */
export class BusError extends Error {
  readonly errorName: string;

  constructor(errorName: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'BusError';
    this.errorName = errorName;
  }

  /** The bus, or the program that was called, does not run. */
  get isNobodyThere(): boolean {
    return nobodyThere.includes(this.errorName);
  }
}

export type Bus = AsyncDisposable & {
  /**
   * Calls a method; starts a service that does not run only with `mayStart`.
   * @returns the reply's arguments, unpacked.
   * @throws BusError also when the bus is down or nothing answers within the call's time.
   */
  call(call: BusCall): Promise<readonly unknown[]>;
  /** Delivers each signal that matches one of the rules, until disposed. */
  listen(listener: (signal: BusSignal) => void): Disposable;
  /** Number of listeners, for tests that check for leaks. */
  listenerCount(): number;
};

/** Sent to listeners, besides the bus's own signals, when the connection is made or lost. */
const connectionSignal = { path: '/', interface: 'station.Bus', member: 'ConnectionChanged' } as const;

const busName = 'org.freedesktop.DBus';
const connectTimeoutMs = 5000;

type Connection = { bus: MessageBus; lost: AbortSignal };

/**
 * A connection to a D-Bus message bus that reconnects whenever it breaks, until disposed. The match rules are added once for
 * each connection and never per operation, so that no rule can leak.
 * Resolves at once: the bus may be missing.
 * @param address D-Bus server address, e.g. `unix:path=/run/dbus/system_bus_socket`.
 * @param rules match rules of the wanted signals (D-Bus specification, "Match Rules").
 */
export function createBus(options: { address: string; rules: readonly string[]; clock: Clock; callMs: number }): Bus {
  const { address, rules, clock, callMs } = options;
  const ending = new AbortController();
  const signals = createEmitter<BusSignal>();
  let current: Connection | null = null;
  // Calls right after the start wait for the first connection attempt instead of failing.
  const tried = Promise.withResolvers<void>();

  const keep = async (): Promise<void> => {
    const backoff = createBackoff({ initialMs: 500, maxMs: 10_000, jitter: 0.2, random: Math.random });
    while (!ending.signal.aborted) {
      try {
        const connection = await connect(address, ending.signal);
        try {
          connection.bus.on('message', (message: Message) => {
            if (message.type === 4) signals.emit(signalOf(message));
          });
          for (const rule of rules) await callOn(connection, addMatch(rule), callMs);
          current = connection;
          tried.resolve();
          backoff.reset();
          signals.emit({ ...connectionSignal, body: [true] });
          await aborted(AbortSignal.any([connection.lost, ending.signal]));
        } finally {
          current = null;
          destroyConnection(connection.bus);
        }
        if (!ending.signal.aborted) signals.emit({ ...connectionSignal, body: [false] });
      } catch {
        // The bus is down or closed the connection at once: calls fail, and the connection is retried.
      }
      tried.resolve();
      await clock.sleep(backoff.nextMs(), ending.signal).catch(() => undefined);
    }
  };
  const running = keep();

  return {
    call: async (call) => {
      await tried.promise;
      if (current === null) throw new BusError('station.Lost', 'there is no connection to the message bus');
      const reply = await callOn(current, call, callMs);
      return reply.map(plain);
    },
    listen: signals.subscribe,
    listenerCount: signals.size,
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await running;
    },
  };
}

const addMatch = (rule: string): BusCall => ({
  destination: busName,
  path: '/org/freedesktop/DBus',
  interface: busName,
  member: 'AddMatch',
  signature: 's',
  body: [rule],
});

async function connect(address: string, ending: AbortSignal): Promise<Connection> {
  // The library's name for "any address that is given".
  const bus = sessionBus({ busAddress: address, authMethods });
  authenticateBySocket(bus);
  const lost = new AbortController();
  bus.on('error', (error: unknown) => lost.abort(error));
  // The bus object reports errors but not an orderly end; only its connection does.
  onConnectionEnd(bus, () => lost.abort());
  const signal = AbortSignal.any([lost.signal, ending, AbortSignal.timeout(connectTimeoutMs)]);
  try {
    await once(bus, 'connect', { signal });
  } catch (error) {
    destroyConnection(bus);
    throw error;
  }
  return { bus, lost: lost.signal };
}

async function callOn(connection: Connection, call: BusCall, usualMs: number): Promise<readonly unknown[]> {
  const { timeoutMs = usualMs, mayStart = false, ...content } = call;
  const message = new Message({ ...content, ...(mayStart ? {} : { flags: MessageFlag.NO_AUTO_START }) });
  const limit = AbortSignal.timeout(timeoutMs);
  const given = AbortSignal.any([connection.lost, limit]);
  const gaveUp = Promise.withResolvers<never>();
  const onAbort = (): void => {
    const [name, text] = connection.lost.aborted
      ? ['station.Lost', 'the connection to the message bus has ended']
      : ['station.TimedOut', 'no answer'];
    gaveUp.reject(new BusError(name, `${call.member}: ${text}`));
  };
  given.addEventListener('abort', onAbort, { once: true });
  if (given.aborted) onAbort();
  try {
    const reply = await Promise.race([connection.bus.call(message), gaveUp.promise]);
    return reply?.body ?? [];
  } catch (error) {
    if (error instanceof BusError) throw error;
    const name = typeof error === 'object' && error !== null && 'type' in error ? String(error.type) : 'station.Failed';
    throw new BusError(name, `${call.member}: ${name}`, error);
  } finally {
    given.removeEventListener('abort', onAbort);
    forgetCall(connection.bus, message);
  }
}

const signalOf = (message: Message): BusSignal => ({
  path: message.path,
  interface: message.interface,
  member: message.member,
  body: message.body.map(plain),
});

/** A D-Bus value without its variants: numbers (64-bit ones too), strings, booleans, `Uint8Array` for `ay`, arrays and records. */
export function plain(value: unknown): unknown {
  if (value instanceof Variant) return plain(value.value);
  if (typeof value === 'bigint') return Number(value);
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]));
}

/** Resolves when the signal aborts. */
export async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}
