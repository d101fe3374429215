import type { Clock } from '@station/kit/clock';
import { every } from '@station/kit/timers';
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
  /** Ids of the devices that are online and have sent something since the backend started, without those of gateways. */
  heard(): string[];
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

type KeeperParts = {
  /** Statuses that are on disk at the start. */
  devices: readonly { id: string; status: Status; external_id?: string }[];
  /** Whether the gateway of a device says when it is online. Unset: no device has one. */
  isForeign?: (externalId: string) => boolean;
  /** Writes a status; the caller passes it to `written` once it is on disk. */
  write: (report: DeviceReport) => Promise<unknown>;
  events: DeviceEvents;
  clock: Clock;
  /** Other replicas receive and write too: a decision carries `quietSince`, and the writer checks it. */
  isShared?: boolean;
};

type KeeperState = {
  parts: KeeperParts;
  devices: Map<string, TrackedDevice>;
  /** Decided offline, not yet written: they are not reported twice. */
  leaving: Set<string>;
  listeningSinceMs: number | null;
  willsSinceMs: number | undefined;
  checkedMs: number;
};

/** Records when the last message of each device arrived, and finds devices that went offline. */
export function createAvailabilityKeeper(parts: KeeperParts): AvailabilityKeeper {
  const { events, clock, isForeign = () => false } = parts;
  const state: KeeperState = {
    parts,
    devices: new Map(
      parts.devices.map(({ id, status, external_id: externalId = '' }) => [
        id,
        newDevice(id, status, isForeign(externalId)),
      ]),
    ),
    leaving: new Set(),
    listeningSinceMs: null,
    willsSinceMs: undefined,
    checkedMs: clock.monotonic(),
  };
  const { devices, leaving } = state;
  const checking = every(checkEveryMs, () => check(state));
  const removing = events.subscribe((event) => {
    if (event.kind === 'added' && isForeign(event.externalId)) deviceOf(state, event.deviceId).isQuiet = true;
    if (event.kind !== 'removed') return;
    devices.delete(event.deviceId);
    leaving.delete(event.deviceId);
  });
  return {
    received: (id, agoMs = 0) => {
      const device = deviceOf(state, id);
      device.receivedMs = Math.max(device.receivedMs ?? -Infinity, clock.monotonic() - agoMs);
    },
    will: (id, agoMs = 0, doubtMs = 0) => {
      const device = deviceOf(state, id);
      device.willMs = clock.monotonic() - agoMs;
      device.isWillDoubtful = (device.receivedMs ?? -Infinity) > device.willMs - doubtMs;
    },
    listening: (isListening, since) => {
      state.willsSinceMs = since;
      state.listeningSinceMs = isListening ? clock.monotonic() : null;
    },
    status: (id) => (leaving.has(id) ? 'offline' : (devices.get(id)?.status ?? 'unknown')),
    heard: () =>
      [...devices.values()]
        .filter(({ id, status, receivedMs, isQuiet }) => {
          return status === 'online' && receivedMs !== null && isQuiet !== true && !leaving.has(id);
        })
        .map(({ id }) => id),
    written: (reports) => {
      for (const report of reports) if (report.kind === 'status') takeOverStatus(state, report);
    },
    check: () => check(state),
    [Symbol.dispose]: () => {
      checking[Symbol.dispose]();
      removing[Symbol.dispose]();
    },
  };
}

const newDevice = (id: string, status: Status, isQuiet = false): TrackedDevice => ({
  id,
  status,
  receivedMs: null,
  willMs: null,
  isQuiet,
});

function deviceOf({ devices }: KeeperState, id: string): TrackedDevice {
  const device = devices.get(id) ?? newDevice(id, 'unknown');
  devices.set(id, device);
  return device;
}

function takeOverStatus(state: KeeperState, { deviceId, status, at }: Extract<DeviceReport, { kind: 'status' }>): void {
  if (status === 'offline') state.leaving.delete(deviceId);
  const device = deviceOf(state, deviceId);
  if (device.status === status) return;
  device.status = status;
  state.parts.events.emit({ kind: 'status', deviceId, status, at });
}

function check(state: KeeperState): void {
  const { parts, devices, leaving } = state;
  const nowMs = parts.clock.monotonic();
  if (state.listeningSinceMs !== null && nowMs - state.checkedMs >= stallMs) {
    state.listeningSinceMs = nowMs;
    state.willsSinceMs = undefined;
  }
  state.checkedMs = nowMs;
  const { listeningSinceMs, willsSinceMs } = state;
  const since = willsSinceMs === undefined ? {} : { willsSinceMs };
  for (const id of decideOffline({ nowMs, listeningSinceMs, ...since, devices: devices.values() })) {
    if (leaving.has(id)) continue;
    leaving.add(id);
    // After an error or an objection, the next check decides again.
    const decideAgain = (): void => void leaving.delete(id);
    parts.write(offlineReport(state, id, nowMs)).then(decideAgain, decideAgain);
  }
}

function offlineReport(state: KeeperState, deviceId: string, nowMs: number): DeviceReport {
  const { clock, isShared = false } = state.parts;
  const at = clock.now();
  const report = { kind: 'status', deviceId, at, status: 'offline' } as const;
  if (!isShared) return report;
  const quietMs = nowMs - lastMessageMs(deviceOf(state, deviceId), state.listeningSinceMs ?? nowMs);
  return { ...report, quietSince: at - Math.floor(quietMs) + clockToleranceMs };
}

const lastMessageMs = ({ receivedMs, willMs }: TrackedDevice, listeningSinceMs: number): number =>
  Math.max(receivedMs ?? listeningSinceMs, willMs ?? -Infinity);
