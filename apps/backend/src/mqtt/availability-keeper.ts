import type { Clock } from '@station/kit/clock';
import type { DeviceEvents, DeviceReport } from '../core/device-events.ts';
import { decideOffline, type HeardDevice } from './availability-decide.ts';

type Status = HeardDevice['status'];

export type AvailabilityKeeper = Disposable & {
  /** A word of the device came in, so long ago. */
  heard(deviceId: string, agoMs?: number): void;
  /** The broker's word of its last will came in, so long ago. @param doubtMs a word that came so long before it may have followed it. */
  will(deviceId: string, agoMs?: number, doubtMs?: number): void;
  /** The broker is heard from now on, or no more. @param willsSinceMs its last wills were heard before already, since then (monotonic). */
  listening(isListening: boolean, willsSinceMs?: number): void;
  /** As it was last written, or is being written. */
  status(deviceId: string): Status;
  /** Takes over statuses that are on disk now, and tells of those that changed. */
  written(reports: readonly DeviceReport[]): void;
  /** Looks who is offline by now, and has it written. Called every second. */
  check(): void;
};

const checkEveryMs = 1_000;
/** The process itself stood still so long (suspended, starved): whatever devices said meanwhile waits to be read. */
const stallMs = 10_000;
/** How far the clocks of replicas that keep the database's time may differ. */
const clockToleranceMs = 100;

/**
 * Keeps when each device was heard, and says who has gone.
 * @param devices statuses as they are on disk at the start.
 * @param write of a status; it is told of by `written` once it is on disk.
 */
export function createAvailabilityKeeper(options: {
  devices: readonly { id: string; status: Status }[];
  write: (report: DeviceReport) => Promise<unknown>;
  events: DeviceEvents;
  clock: Clock;
  /** Other replicas hear and write too: what is decided here says since when the device was quiet, and is checked where it is written. */
  isShared?: boolean;
}): AvailabilityKeeper {
  const { events, clock, write } = options;
  const devices = new Map<string, HeardDevice>();
  for (const { id, status } of options.devices) devices.set(id, { id, status, heardMs: null, willMs: null });
  /** Said to be offline, and not yet written: is not said twice. */
  const leaving = new Set<string>();
  let listeningSinceMs: number | null = null;
  let willsSinceMs: number | undefined;
  let checkedMs = clock.monotonic();

  const of = (id: string): HeardDevice => {
    const device = devices.get(id) ?? { id, status: 'unknown', heardMs: null, willMs: null };
    devices.set(id, device);
    return device;
  };
  const check = (): void => {
    const nowMs = clock.monotonic();
    if (listeningSinceMs !== null && nowMs - checkedMs >= stallMs) {
      listeningSinceMs = nowMs;
      willsSinceMs = undefined;
    }
    checkedMs = nowMs;
    const since = willsSinceMs === undefined ? {} : { willsSinceMs };
    for (const id of decideOffline({ nowMs, listeningSinceMs, ...since, devices: devices.values() })) {
      if (leaving.has(id)) continue;
      leaving.add(id);
      const at = clock.now();
      const quietSince = at - Math.floor(nowMs - lastWordMs(of(id), listeningSinceMs ?? nowMs)) + clockToleranceMs;
      const report: DeviceReport = { kind: 'status', deviceId: id, at, status: 'offline' };
      // Whatever went wrong, or spoke against it, it is decided again the next time.
      const decideAgain = (): void => void leaving.delete(id);
      write(options.isShared ? { ...report, quietSince } : report).then(decideAgain, decideAgain);
    }
  };
  const timer = setInterval(check, checkEveryMs).unref();
  const removing = events.subscribe((event) => {
    if (event.kind !== 'removed') return;
    devices.delete(event.deviceId);
    leaving.delete(event.deviceId);
  });

  return {
    heard: (id, agoMs = 0) => {
      const device = of(id);
      device.heardMs = Math.max(device.heardMs ?? -Infinity, clock.monotonic() - agoMs);
    },
    will: (id, agoMs = 0, doubtMs = 0) => {
      const device = of(id);
      device.willMs = clock.monotonic() - agoMs;
      device.isWillDoubtful = (device.heardMs ?? -Infinity) > device.willMs - doubtMs;
    },
    listening: (isListening, since) => {
      willsSinceMs = since;
      listeningSinceMs = isListening ? clock.monotonic() : null;
    },
    status: (id) => (leaving.has(id) ? 'offline' : (devices.get(id)?.status ?? 'unknown')),
    written: (reports) => {
      for (const report of reports) {
        if (report.kind !== 'status') continue;
        const { deviceId, status, at } = report;
        if (status === 'offline') leaving.delete(deviceId);
        const device = of(deviceId);
        if (device.status === status) continue;
        device.status = status;
        events.emit({ kind: 'status', deviceId, status, at });
      }
    },
    check,
    [Symbol.dispose]: () => {
      clearInterval(timer);
      removing[Symbol.dispose]();
    },
  };
}

const lastWordMs = ({ heardMs, willMs }: HeardDevice, listeningSinceMs: number): number =>
  Math.max(heardMs ?? listeningSinceMs, willMs ?? -Infinity);
