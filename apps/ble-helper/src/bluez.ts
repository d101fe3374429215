import type { Clock } from '@station/kit/clock';
import { createEmitter } from '@station/kit/emitter';
import { type Bus, type BusCall, BusError, type BusSignal } from '@station/kit/message-bus';
import { Variant } from '@jellybrick/dbus-next';
import { applySignal, bluezName, interfaces, text, treeOf, type ObjectTree, type TreeChange } from './bluez-objects.ts';

/** All signals of BlueZ, and its start and stop: two rules for each connection, whatever the helper does. */
export const matchRules: readonly string[] = [
  `type='signal',sender='${bluezName}',path_namespace='/'`,
  `type='signal',sender='org.freedesktop.DBus',member='NameOwnerChanged',arg0='${bluezName}'`,
];

/** `reset`: bluetoothd came or went; everything may have changed. */
export type BluezChange = TreeChange | { kind: 'reset' };

/** BlueZ as it is now: its objects are read once and then follow its signals. */
export type Bluez = Disposable & {
  /** Null until the first look: whether bluetoothd answers on the bus. */
  isRunning(): boolean | null;
  /** Empty while bluetoothd does not run. */
  readonly tree: ObjectTree;
  listen(listener: (change: BluezChange) => void): Disposable;
  /** Resolves with the first value that is not null, now or after a change. @throws the signal's reason. */
  until<T>(read: () => T | null, signal: AbortSignal): Promise<T>;
  /** @throws BusError */
  call(path: string, name: string, member: string, rest?: Partial<BusCall>): Promise<readonly unknown[]>;
  /** Sets a property. @throws BusError */
  set(path: string, name: string, property: string, value: Variant): Promise<void>;
};

/** Time between tries to read the objects of a bluetoothd that runs and does not answer. */
const rereadMs = 1000;

export function createBluez({ bus, clock }: { bus: Bus; clock: Clock }): Bluez {
  const changes = createEmitter<BluezChange>();
  const ending = new AbortController();
  const tree: ObjectTree = new Map();
  let isRunning: boolean | null = null;
  // Signals that come while the objects are read; null: not reading.
  let held: BusSignal[] | null = null;
  let generation = 0;

  const reset = (objects: ObjectTree, running: boolean): void => {
    tree.clear();
    for (const [path, all] of objects) tree.set(path, all);
    isRunning = running;
    changes.emit({ kind: 'reset' });
  };
  const call: Bluez['call'] = (path, name, member, rest = {}) =>
    bus.call({ destination: bluezName, path, interface: name, member, ...rest });
  const read = async (): Promise<void> => {
    const mine = ++generation;
    held = [];
    while (generation === mine) {
      try {
        const [objects] = await call('/', interfaces.objectManager, 'GetManagedObjects');
        if (generation !== mine) return;
        const fresh = treeOf(objects);
        // The bus may deliver signals behind the answer before the answer is looked at here.
        for (const signal of held) applySignal(fresh, signal);
        held = null;
        return reset(fresh, true);
      } catch (error) {
        if (generation !== mine) return;
        if (error instanceof BusError && error.isNobodyThere) {
          held = null;
          return reset(new Map(), false);
        }
        held = [];
        await clock.sleep(rereadMs, ending.signal).catch(() => undefined);
      }
    }
  };
  const gone = (): void => {
    generation += 1;
    held = null;
    reset(new Map(), false);
  };
  const onSignal = (signal: BusSignal): void => {
    const { member, body } = signal;
    if (member === 'ConnectionChanged' || member === 'NameOwnerChanged') {
      if (member === 'ConnectionChanged' ? body[0] === true : text(body[2]) !== '') void read();
      else gone();
    } else if (held !== null) held.push(signal);
    else for (const change of applySignal(tree, signal)) changes.emit(change);
  };
  const listening = bus.listen(onSignal);
  // Also when the bus is missing from the start: then the call fails at once.
  void read();

  return {
    isRunning: () => isRunning,
    tree,
    listen: changes.subscribe,
    until: (look, signal) => until(changes.subscribe, look, signal),
    call,
    set: async (path, name, property, value) => {
      await call(path, interfaces.properties, 'Set', { signature: 'ssv', body: [name, property, value] });
    },
    [Symbol.dispose]: () => {
      generation += 1;
      ending.abort();
      listening[Symbol.dispose]();
    },
  };
}

/** Makes BlueZ forget a device, and end its link. @throws BusError */
export async function removeDevice(bluez: Bluez, adapter: string, device: string, timeoutMs?: number): Promise<void> {
  const limit = timeoutMs === undefined ? {} : { timeoutMs };
  await bluez.call(adapter, interfaces.adapter, 'RemoveDevice', { signature: 'o', body: [device], ...limit });
}

async function until<T>(listen: Bluez['listen'], look: () => T | null, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const now = look();
  if (now !== null) return now;
  const found = Promise.withResolvers<T>();
  const onAbort = (): void => found.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  using _listening = listen(() => {
    const value = look();
    if (value !== null) found.resolve(value);
  });
  try {
    return await found.promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
