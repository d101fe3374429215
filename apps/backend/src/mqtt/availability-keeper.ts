import type { Clock } from '@station/kit/clock';
import type { DeviceEvents, DeviceReport } from '../core/device-events.ts';
import { decideOffline, type TrackedDevice } from './availability-decide.ts';

type Status = TrackedDevice['status'];

export type AvailabilityKeeper = Disposable & {
  /** A message of the device arrived, `agoMs` ago. */
  received(deviceId: string, agoMs?: number): void;
  /** The last will of the device arrived, `agoMs` ago. @param doubtMs a message up to this long before it may in fact be newer. */
  will(deviceId: string, agoMs?: number, doubtMs?: number): void;
  /** Receiving started or stopped. @param willsSinceMs last wills were received since this earlier time (monotonic). */
  listening(isListening: boolean, willsSinceMs?: number): void;
  /** The status that was last written, or is being written. */
  status(deviceId: string): Status;
  /** Takes over statuses that are on disk now, and emits the changes. */
  written(reports: readonly DeviceReport[]): void;
  /** Finds devices that went offline and writes it. Called every second. */
  check(): void;
};

const checkEveryMs = 1_000;
/** The process was stopped this long (suspended, starved): messages sent meanwhile still wait to be read. */
const stallMs = 10_000;
/** How far the clocks of replicas may differ, although they follow the database's clock. */
const clockToleranceMs = 100;

/**
 * Records when the last message of each device arrived, and finds devices that went offline.
 * @param devices statuses that are on disk at the start.
 * @param write writes a status; the caller passes it to `written` once it is on disk.
 */
export function createAvailabilityKeeper(options: {
  devices: readonly { id: string; status: Status }[];
  write: (report: DeviceReport) => Promise<unknown>;
  events: DeviceEvents;
  clock: Clock;
  /** Other replicas receive and write too: a decision carries `quietSince`, and the writer checks it. */
  isShared?: boolean;
}): AvailabilityKeeper {
  const { events, clock, write } = options;
  const devices = new Map<string, TrackedDevice>();
  for (const { id, status } of options.devices) devices.set(id, { id, status, receivedMs: null, willMs: null });
  /** Decided offline, not yet written: they are not reported twice. */
  const leaving = new Set<string>();
  let listeningSinceMs: number | null = null;
  let willsSinceMs: number | undefined;
  let checkedMs = clock.monotonic();

  const of = (id: string): TrackedDevice => {
    const device = devices.get(id) ?? { id, status: 'unknown', receivedMs: null, willMs: null };
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
      const quietSince = at - Math.floor(nowMs - lastMessageMs(of(id), listeningSinceMs ?? nowMs)) + clockToleranceMs;
      const report: DeviceReport = { kind: 'status', deviceId: id, at, status: 'offline' };
      // After an error or an objection, the next check decides again.
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
    received: (id, agoMs = 0) => {
      const device = of(id);
      device.receivedMs = Math.max(device.receivedMs ?? -Infinity, clock.monotonic() - agoMs);
    },
    will: (id, agoMs = 0, doubtMs = 0) => {
      const device = of(id);
      device.willMs = clock.monotonic() - agoMs;
      device.isWillDoubtful = (device.receivedMs ?? -Infinity) > device.willMs - doubtMs;
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

const lastMessageMs = ({ receivedMs, willMs }: TrackedDevice, listeningSinceMs: number): number =>
  Math.max(receivedMs ?? listeningSinceMs, willMs ?? -Infinity);
