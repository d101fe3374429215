import { createEmitter } from '@station/kit/emitter';
import { describeError } from '@station/kit/station-error';
import type { ServerMessage } from '@station/protocol/socket';
import type { BackendLogger } from '@station/kit/logger';

/** `pending` is followed by one of the others, unless the backend ends before. */
type CommandStatus = 'pending' | 'confirmed' | 'failed' | 'expired';

export type CommandChange = {
  commandId: string;
  deviceId: string;
  action: string;
  status: CommandStatus;
  /** Of one that failed, in English; never a secret. */
  reason: string | null;
  /** Who sent it; null when the station did by itself. */
  userId: string | null;
  /** Of this status, milliseconds since the epoch. */
  at: number;
};

/** States as they were before a batch, JSON texts by device: of those whose state the batch reports. */
export type StatesBefore = ReadonlyMap<string, string>;

/** What writing a batch of reports gave. */
export type Written = {
  /** As they were taken: without what their devices' states have no room for. */
  reports: readonly DeviceReport[];
  before: StatesBefore;
  /** External ids of the devices whose states had no room for all of it, once for each report. */
  cut: readonly string[];
};

/** What happens to devices. Told after it is on disk, in the order it happened. */
export type DeviceEvent =
  /**
   * Reports, as they were written; status reports among them come on every heartbeat: see `status` for changes. `before` comes with those
   * that this process wrote itself: what may be done once only, on whichever replica, is done for them.
   */
  | { kind: 'reports'; reports: readonly DeviceReport[]; before?: StatesBefore }
  /** A device went online or offline. */
  | { kind: 'status'; deviceId: string; status: 'online' | 'offline'; at: number }
  | { kind: 'command'; command: CommandChange }
  /** Provisioned, anew or again (then it has another token): whoever changes the device table tells. */
  | { kind: 'added'; deviceId: string; externalId: string }
  | { kind: 'changed'; deviceId: string; externalId: string }
  /** Removed: its connection is ended, its commands are dropped. */
  | { kind: 'removed'; deviceId: string; externalId: string }
  /** For everyone at /ws, as it is. `key`: of several with the same one only the latest matters. */
  | { kind: 'message'; message: ServerMessage; key: string };

export type DeviceEvents = {
  emit(event: DeviceEvent): void;
  /** Listeners are called at once, one after another; one that throws is logged and does not stop the others. */
  subscribe(listener: (event: DeviceEvent) => void): Disposable;
};

export const createDeviceEvents = (logger: BackendLogger): DeviceEvents =>
  createEmitter<DeviceEvent>((error, { kind }) =>
    logger.event('unexpected_error', { where: `device event ${kind}`, message: describeError(error) }),
  );

/** What came from a device, once its message was found good. `at` is when it was received, milliseconds since the epoch. */
export type DeviceReport = { deviceId: string; at: number } &
  /** `saidAt`: the earliest time it was said, when it may have waited at the broker while others of the device came another way. */
  (
    | { kind: 'state'; state: Readonly<Record<string, unknown>>; saidAt?: number }
    | { kind: 'event'; eventKind: string; data: Readonly<Record<string, unknown>> }
    /** `quietSince`: offline holds only if the device was not heard after this time. */
    | { kind: 'status'; status: 'online' | 'offline'; quietSince?: number }
    | { kind: 'handshake'; firmwareVersion: string; chip: string; kitTag: string | null }
  );

/** How long events of devices, and what automations did, are kept. */
export const eventsKeptMs = 90 * 24 * 60 * 60 * 1000;
