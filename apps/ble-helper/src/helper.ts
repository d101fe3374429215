import type { ConnectAndWrite, HelperCommand, HelperNote } from '@station/protocol/ble-frames';
import type { Clock } from '@station/kit/clock';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import { createBus, systemBusAddress } from '@station/kit/message-bus';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';
import { createBluez, matchRules } from './bluez.ts';
import { connectAndWrite, usualWriteLimits, type WriteLimits } from './connect-and-write.ts';
import { createFrameReader } from './frame-reader.ts';
import { createFrameWriter } from './frame-writer.ts';
import { GivenUp } from './giving-up.ts';
import { createScan, nameOf } from './scan.ts';

type Output = Parameters<typeof createFrameWriter>[0];

/** Times that tests shorten. */
export type Limits = WriteLimits & {
  /** Without any event for so long, discovery is started again. */
  stallMs: number;
  /** A call of BlueZ that should answer at once. */
  callMs: number;
  /** For ending links when the program ends. */
  stopMs: number;
};
const usualLimits: Limits = { ...usualWriteLimits, stallMs: 120_000, callMs: 5000, stopMs: 1000 };

/** Serves the frames of the backend until disposed. Pure transport: it knows neither devices nor what is written to them. */
export async function startHelper(options: {
  input: { on(event: 'data', listener: (chunk: Uint8Array) => void): unknown };
  output: Output;
  note: (note: HelperNote) => void;
  clock: Clock;
  /** D-Bus server address; null: the system bus at its usual place. */
  busAddress: string | null;
  /** Name of the adapter (`hci0`); null: the best one. */
  adapter: string | null;
  limits?: Partial<Limits>;
}): Promise<AsyncDisposable> {
  const { input, output, note, clock, adapter } = options;
  const limits = { ...usualLimits, ...options.limits };
  await using stack = new AsyncDisposableStack();
  const writer = createFrameWriter(output);
  const send = writer.send;
  const bus = stack.use(
    createBus({ address: options.busAddress ?? systemBusAddress, rules: matchRules, clock, callMs: limits.callMs }),
  );
  const bluez = stack.use(createBluez({ bus, clock }));
  const scan = stack.use(createScan({ bluez, clock, adapter, stallMs: limits.stallMs, send, note }));
  const faults = createRateLimitedCounter<string>({
    clock,
    everyMs: 1000,
    report: ({ key }) => note({ note: 'line_ignored', reason: key }),
  });
  const writes = createExclusiveRunner();
  const ending = new AbortController();
  let lastResultMs = -Infinity;
  const write = async (command: ConnectAndWrite, receivedMs: number): Promise<void> => {
    // The backend waits from the time that it sent the command, or got the result before.
    const takenUpMs = Math.max(receivedMs, lastResultMs);
    const budgetMs = limits.budgetMs - (clock.monotonic() - takenUpMs);
    const parts = { bluez, scan, clock, limits: { ...limits, budgetMs }, note };
    const { result, ended } = connectAndWrite(parts, command, ending.signal);
    const error = await result;
    const { address } = command;
    send({ event: 'write_result', address, ...(error === null ? { ok: true } : { ok: false, error }) });
    lastResultMs = clock.monotonic();
    await ended;
  };
  stack.defer(async () => {
    // Otherwise it would go on when the write ends.
    scan.stop();
    ending.abort(new GivenUp({ error: 'stopping', next: 'give_up' }));
    await Promise.race([writes.run(async () => undefined), clock.sleep(limits.stopMs)]);
  });
  const queueWrite = (command: ConnectAndWrite): void => {
    const receivedMs = clock.monotonic();
    writes
      .run(() => write(command, receivedMs))
      .catch((error: unknown) => note({ note: 'log', message: `write: ${nameOf(error)}` }));
  };
  const onCommand = (command: HelperCommand): void => {
    switch (command.event) {
      case 'start_scan':
        return scan.start(command.service_uuid);
      case 'stop_scan':
        return scan.stop();
      case 'connect_and_write':
        return queueWrite(command);
    }
  };
  const reader = createFrameReader({ onCommand, onFault: (fault) => faults.count(fault, undefined) });
  send({ event: 'ready' });
  input.on('data', (chunk) => reader.push(chunk));
  return stack.move();
}
