import { PassThrough } from 'node:stream';
import {
  improvCommandUuid,
  improvServiceUuid,
  provisioningCharacteristicUuid,
  provisioningServiceUuid,
  type HelperCommand,
  type HelperEvent,
  type HelperNote,
  type WriteResult,
} from '@station/protocol/ble-frames';
import { until as waitUntil } from '@station/backend/testing/until';
import { startHelper, type Limits } from '@station/ble-helper/helper';
import { systemClock } from '@station/kit/clock';
import { startFakeBluez } from '../../rig/fake-bluez.ts';
import type { FakeBluez, Peripheral } from '../../rig/fake-bluez-objects.ts';
import { startPrivateBus, type PrivateBus } from '../../rig/private-bus.ts';

export const service = provisioningServiceUuid;
export const characteristic = provisioningCharacteristicUuid;
export const startScan: HelperCommand = { event: 'start_scan', service_uuid: service };
export const stopScan: HelperCommand = { event: 'stop_scan' };

/** The helper in this process, on a private bus with the fake BlueZ. */
export type Stage = AsyncDisposable & {
  bus: PrivateBus;
  fake: FakeBluez;
  events: HelperEvent[];
  notes: HelperNote[];
  send(...commands: HelperCommand[]): void;
  /** Waits until it is true. */
  until(isTrue: () => boolean): Promise<void>;
  /** Waits for the next frame of this kind that fits, after those that were waited for before. */
  next<E extends HelperEvent['event']>(
    event: E,
    fits?: (frame: Extract<HelperEvent, { event: E }>) => boolean,
  ): Promise<Extract<HelperEvent, { event: E }>>;
  /** Sends a write and waits for its result. */
  write(peripheral: Peripheral, payload?: string): Promise<WriteResult>;
  /** Ends the helper. */
  stop(): Promise<void>;
  /** Ends the fake BlueZ, and starts a new one. */
  restartBluez(): Promise<void>;
};

export async function createStage(
  options: { adapter?: string; limits?: Partial<Limits>; isWithoutBluez?: boolean } = {},
): Promise<Stage> {
  await using stack = new AsyncDisposableStack();
  const bus = stack.use(await startPrivateBus());
  const input = new PassThrough();
  const output = new PassThrough();
  const events: HelperEvent[] = [];
  const notes: HelperNote[] = [];
  output.on('data', (chunk: Buffer) => {
    for (const line of chunk.toString().trim().split('\n')) events.push(JSON.parse(line) as HelperEvent);
  });
  let read = 0;
  let fake = await startFakeBluez(bus.address);
  if (options.isWithoutBluez) await fake[Symbol.asyncDispose]();
  stack.defer(() => fake[Symbol.asyncDispose]());
  const helper = stack.use(
    await startHelper({
      input,
      output,
      note: (note) => void notes.push(note),
      clock: systemClock,
      busAddress: bus.address,
      adapter: options.adapter ?? null,
      ...(options.limits ? { limits: options.limits } : {}),
    }),
  );
  const moved = stack.move();
  const until: Stage['until'] = (isTrue) => waitUntil('what the helper and BlueZ do', isTrue);
  const stage: Stage = {
    bus,
    get fake() {
      return fake;
    },
    events,
    notes,
    until,
    send: (...commands) => {
      for (const command of commands) input.write(`${JSON.stringify(command)}\n`);
    },
    next: async (event, fits = () => true) => {
      for (;;) {
        await until(() => events.length > read);
        const frame = events[read++];
        if (frame?.event === event && fits(frame as never)) return frame as never;
      }
    },
    write: (peripheral, payload = 'payload') => {
      const isImprov = Object.hasOwn(peripheral.services, improvServiceUuid);
      stage.send({
        event: 'connect_and_write',
        address: peripheral.address,
        service_uuid: isImprov ? improvServiceUuid : service,
        characteristic_uuid: isImprov ? improvCommandUuid : characteristic,
        payload,
      });
      return stage.next('write_result');
    },
    stop: async () => helper[Symbol.asyncDispose](),
    restartBluez: async () => {
      await fake[Symbol.asyncDispose]();
      fake = await startFakeBluez(bus.address);
    },
    [Symbol.asyncDispose]: () => moved[Symbol.asyncDispose](),
  };
  return stage;
}

let made = 0;

/** A device of this family; `received` collects what was written to it. */
export function device(options: Partial<Peripheral> = {}): Peripheral & { received: string[] } {
  made += 1;
  const received: string[] = [];
  return {
    address: `AA:BB:CC:00:00:${made.toString(16).padStart(2, '0').toUpperCase()}`,
    name: `SH_light_${made}`,
    services: { [service]: [characteristic] },
    onWrite: (_, value) => void received.push(Buffer.from(value).toString()),
    ...options,
    received,
  };
}
