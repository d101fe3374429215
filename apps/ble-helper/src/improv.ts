import { improvCommandUuid, improvServiceUuid } from '@station/protocol/ble-frames';
import type { Clock } from '@station/kit/clock';
import { findCharacteristic, interfaces } from './bluez-objects.ts';
import type { Bluez } from './bluez.ts';
import { abortable } from './giving-up.ts';
import { decideImprov, improvErrors, improvUuids, type ImprovFacts } from './improv-decide.ts';
import type { Failure } from './write-decide.ts';

/** What is kept over the tries of one operation. */
export type ImprovMemory = { hadWritten: boolean };

/**
 * Hands a Wi-Fi network to a connected device and waits until it has joined, or has said why not.
 * @param options.write writes the command.
 * @param options.authorizeMs time for a person to press the button of a device that asks for it.
 * @returns null: the device has joined.
 * @throws BusError; the reason of `signal`, which also aborts when the link is lost.
 */
export async function provisionByImprov(options: {
  bluez: Bluez;
  device: string;
  memory: ImprovMemory;
  write: (characteristic: string) => Promise<void>;
  clock: Clock;
  authorizeMs: number;
  signal: AbortSignal;
}): Promise<Failure | null> {
  const { bluez, device, memory, write, clock, signal } = options;
  const pathOf = (characteristic: string): string | null => {
    const found = findCharacteristic(bluez.tree, device, { service: improvServiceUuid, characteristic });
    return 'path' in found ? found.path : null;
  };
  const [command, state, error, result] = [
    improvCommandUuid,
    improvUuids.state,
    improvUuids.error,
    improvUuids.result,
  ].map(pathOf);
  if (!command || !state || !error) return { error: 'characteristic_missing', next: 'rediscover' };

  const facts: ImprovFacts = {
    state: null,
    error: improvErrors.none,
    hasResult: false,
    hasWritten: false,
    hadWritten: memory.hadWritten,
    isAuthorizationOver: false,
  };
  // Changed by signals while nobody looks; `changed` wakes who waits.
  let changed = Promise.withResolvers<void>();
  using _listening = bluez.listen((change) => {
    if (change.kind !== 'changed' || !change.keys.includes('Value')) return;
    const value = bluez.tree.get(change.path)?.[interfaces.characteristic]?.['Value'];
    if (!(value instanceof Uint8Array)) return;
    if (change.path === state) facts.state = value[0] ?? null;
    // What it said before the command is about an earlier one.
    if (change.path === error && (facts.hasWritten || facts.hadWritten)) facts.error = value[0] ?? improvErrors.none;
    if (change.path === result && facts.hasWritten && value.length > 0) facts.hasResult = true;
    changed.resolve();
  });
  // Before the first write, once: a device may answer at once.
  for (const path of [state, error, result])
    if (path) await abortable(bluez.call(path, interfaces.characteristic, 'StartNotify'), signal);
  const reading = bluez.call(state, interfaces.characteristic, 'ReadValue', { signature: 'a{sv}', body: [{}] });
  const [first] = await abortable(reading, signal);
  // A notification may have come since.
  if (first instanceof Uint8Array) facts.state ??= first[0] ?? null;

  const authorizing = new AbortController();
  void clock.sleep(options.authorizeMs, AbortSignal.any([signal, authorizing.signal])).then(
    () => {
      facts.isAuthorizationOver = true;
      changed.resolve();
    },
    () => undefined,
  );
  const onAbort = (): void => changed.reject(signal.reason as Error);
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    for (;;) {
      signal.throwIfAborted();
      changed = Promise.withResolvers<void>();
      changed.promise.catch(() => undefined);
      const step = decideImprov(facts);
      if (step.kind === 'done') return null;
      if (step.kind === 'failed') return { error: step.error, next: 'give_up' };
      if (step.kind === 'wait') await changed.promise;
      else {
        // Before the call: the device may answer before BlueZ does.
        facts.hasWritten = true;
        facts.state = null;
        memory.hadWritten = true;
        await write(command);
      }
    }
  } finally {
    authorizing.abort();
    signal.removeEventListener('abort', onAbort);
  }
}
