import type { Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { createExclusiveRunner } from '@station/kit/exclusive-runner';
import {
  HelperCommand,
  improvServiceUuid,
  maxPayloadBytes,
  writeResultWithinMs,
  type BleError,
  type ConnectAndWrite,
  type HelperEvent,
  type HelperNote,
  type RadioState,
} from '@station/protocol/ble-frames';
import { Value } from 'typebox/value';
import { seededRandom } from '../devices/random.ts';
import type { Peripheral } from './peripheral.ts';

/** One connection of a helper: its scan, and its writes, one after another. */
export type Session = Disposable & {
  isScanning(): boolean;
  /** The adapter has another state. */
  onAdapter(): void;
  crash(): void;
};

type Air = {
  adapter: () => RadioState;
  peripherals: ReadonlyMap<string, Peripheral>;
  seed: string;
  speed: number;
};

/** How precisely the intervals of advertisements are kept. */
const tickMs = 20;
/** As the helper for BlueZ: bounded tries, and an end before the backend expects it. */
const attempts = 4;
const pauseMs = 250;
/** How soon a write notices that its time was changed. */
const lookMs = 100;
const answerWithinMs = writeResultWithinMs - 2_000;
const connectMs = { least: 150, most: 700 };

export function openSession(socket: Socket, air: Air): Session {
  let serviceUuid: string | null = null;
  let adapter = air.adapter();
  let changing = new AbortController();
  const closing = new AbortController();
  const runner = createExclusiveRunner();
  const random = seededRandom(`${air.seed}/connections`);
  const scan = createScan(air, (event) => send(event));
  const send = (message: HelperEvent | HelperNote | { crash: true }): void => {
    if (!socket.destroyed) socket.write(`${JSON.stringify(message)}\n`);
  };
  const follow = (): void => {
    const wanted = adapter === 'ready' ? serviceUuid : null;
    if (wanted === null && serviceUuid !== null && scan.serviceUuid() === null) return;
    scan.set(wanted);
    send({ event: wanted === null ? 'scan_stopped' : 'scan_started' });
  };

  const write = async (command: ConnectAndWrite, deadline: AbortSignal): Promise<void> => {
    const aborting = AbortSignal.any([closing.signal, changing.signal, deadline]);
    scan.pause(true);
    const error = await deliver(command, { air, random, signal: aborting }).catch((thrown: unknown) => {
      if (!aborting.aborted) throw thrown;
      return deadline.aborted ? 'timed_out' : adapter === 'ready' ? 'disconnected' : adapter;
    });
    scan.pause(false);
    const { address } = command;
    send({ event: 'write_result', address, ok: error === null, ...(error === null ? {} : { error }) });
  };
  const execute = (command: HelperCommand): void => {
    if (command.event === 'connect_and_write') {
      const deadline = AbortSignal.timeout(answerWithinMs);
      void runner.run(() => write(command, deadline));
    } else {
      serviceUuid = command.event === 'start_scan' ? command.service_uuid : null;
      follow();
    }
  };

  createInterface({ input: socket })
    .on('line', (line) => {
      const command: unknown = JSON.parse(line);
      if (Value.Check(HelperCommand, command)) execute(command);
    })
    // Errors of the socket, which closes then.
    .on('error', () => undefined);
  send({ note: 'radio', state: adapter });
  return {
    isScanning: () => scan.serviceUuid() !== null,
    onAdapter: () => {
      adapter = air.adapter();
      changing.abort();
      changing = new AbortController();
      send({ note: 'radio', state: adapter });
      if (serviceUuid !== null) follow();
    },
    crash: () => send({ crash: true }),
    [Symbol.dispose]: () => {
      closing.abort();
      scan.set(null);
    },
  };
}

type Scan = {
  serviceUuid(): string | null;
  /** Null: no scan. */
  set(serviceUuid: string | null): void;
  /** An adapter that connects does not scan. */
  pause(isPaused: boolean): void;
};

function createScan({ peripherals }: Air, send: (event: HelperEvent) => void): Scan {
  let current: string | null = null;
  let isPaused = false;
  let timer: NodeJS.Timeout | undefined;
  const dueAt = new Map<Peripheral, number>();
  const hear = (): void => {
    const now = performance.now();
    for (const peripheral of peripherals.values()) {
      const due = dueAt.get(peripheral) ?? now;
      if (due > now) continue;
      const every = peripheral.report().plan.advertiseEveryMs;
      // Behind by more than a second: those advertisements are lost.
      dueAt.set(peripheral, Math.max(due + every, now - 1_000));
      const heard = isPaused ? null : peripheral.advertisement();
      const isWanted = heard?.service_uuids.some((uuid) => uuid === current || uuid === improvServiceUuid);
      if (heard !== null && isWanted === true) send({ event: 'discovered', ...heard });
    }
  };
  return {
    serviceUuid: () => current,
    set: (serviceUuid) => {
      clearInterval(timer);
      current = serviceUuid;
      dueAt.clear();
      let offset = 0;
      // Not all at the same moment.
      for (const one of peripherals.values()) {
        dueAt.set(one, performance.now() + (offset++ * one.report().plan.advertiseEveryMs) / peripherals.size);
      }
      if (serviceUuid !== null) timer = setInterval(hear, tickMs);
    },
    pause: (paused) => void (isPaused = paused),
  };
}

/** Connects and writes, again when the connection breaks. @throws the signal's reason. @returns null: it is written. */
async function deliver(
  command: ConnectAndWrite,
  { air, random, signal }: { air: Air; random: () => number; signal: AbortSignal },
): Promise<BleError | null> {
  const payload = Buffer.from(command.payload);
  if (payload.length > maxPayloadBytes) return 'payload_invalid';
  const wait = (ms: number): Promise<void> => delay(ms / air.speed, undefined, { signal });
  let error: BleError = 'connect_failed';
  for (let attempt = 1; attempt <= attempts; attempt++) {
    signal.throwIfAborted();
    if (attempt > 1) await wait(pauseMs);
    const adapter = air.adapter();
    if (adapter !== 'ready') return adapter;
    const peripheral = air.peripherals.get(command.address);
    await wait(connectMs.least + (connectMs.most - connectMs.least) * random());
    if (peripheral?.isHeard() !== true) return 'not_found';
    const { faults } = peripheral.report();
    error = 'connect_failed';
    if (faults.refusesConnections) continue;
    if (peripheral.characteristic.service !== command.service_uuid) return 'service_missing';
    if (peripheral.characteristic.uuid !== command.characteristic_uuid) return 'characteristic_missing';
    const isBroken = peripheral.breaksConnection({ isFirstOfWrite: attempt === 1 });
    // Its time may be shortened meanwhile.
    const share = isBroken ? 0.5 : 1;
    const startedMs = performance.now();
    const leftMs = (): number =>
      startedMs + (share * peripheral.report().faults.writeMs) / air.speed - performance.now();
    while (leftMs() > 0) await delay(Math.min(leftMs(), lookMs), undefined, { signal });
    error = 'disconnected';
    if (isBroken) continue;
    // It may have gone meanwhile.
    if (peripheral.isHeard()) return peripheral.receive(payload);
  }
  return error;
}
