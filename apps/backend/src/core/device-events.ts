import { createEmitter } from '@station/kit/emitter';
import type { ServerMessage } from '@station/protocol/socket';
import type { BackendLogger } from '@station/kit/logger';
import type { Fault } from './stored-fault.ts';

/** Another status follows `pending`, unless the backend ends first. */
type CommandStatus = 'pending' | 'confirmed' | 'failed' | 'expired';

export type CommandChange = {
  commandId: string;
  deviceId: string;
  action: string;
  status: CommandStatus;
  /** Why it failed, in English; never a secret. */
  reason: string | null;
  /** The user who sent it; null when the station sent it automatically. */
  userId: string | null;
  /** Time of this status, milliseconds since the epoch. */
  at: number;
};

/** States before a batch, as JSON text by device, for the devices whose state the batch reports. */
export type StatesBefore = ReadonlyMap<string, string>;

/** Result of writing a batch of reports. */
export type Written = {
  /** The reports as written, without values that exceed the limits of a state. */
  reports: readonly DeviceReport[];
  before: StatesBefore;
  /** External ids of devices whose report exceeded the limits of a state, once for each report. */
  cut: readonly string[];
  /** Their ids. */
  cutIds: readonly string[];
};

/** Events of devices, in the order they occurred. They are on disk then, but for measured values that may wait for it (ADR 80). */
export type DeviceEvent =
  /**
   * Reports as written. Every heartbeat adds a status report; `status` events are the changes. `before` is set only on the replica that
   * wrote the reports: work that one replica must do once happens there.
   */
  | { kind: 'reports'; reports: readonly DeviceReport[]; before?: StatesBefore }
  /** A device went online or offline. */
  | { kind: 'status'; deviceId: string; status: 'online' | 'offline'; at: number }
  | { kind: 'command'; command: CommandChange }
  /**
   * Provisioned for the first time or again (with a new token), or accepted with the login that it has. The code that changes the device
   * table emits it.
   */
  | { kind: 'added'; deviceId: string; externalId: string; isLoginKept?: true }
  | { kind: 'changed'; deviceId: string; externalId: string }
  /** What it says about itself is another (ADR 69). */
  | { kind: 'described'; deviceId: string }
  /** Removed: listeners drop its commands. Its login stays until `login_ended`. */
  | { kind: 'removed'; deviceId: string; externalId: string }
  /** The login of a removed device ended: its connection ends too. */
  | { kind: 'login_ended'; deviceId: string; externalId: string }
  /** A message for every client at /ws, unchanged. `key`: of several messages with the same key only the latest matters. */
  | { kind: 'message'; message: ServerMessage; key: string };

export type DeviceEvents = {
  emit(event: DeviceEvent): void;
  /** Calls the listeners synchronously, in order. An error of one is logged and does not stop the others. */
  subscribe(listener: (event: DeviceEvent) => void): Disposable;
};

export const createDeviceEvents = (logger: BackendLogger): DeviceEvents =>
  createEmitter<DeviceEvent>((error, { kind }) => logger.failed(`device event ${kind}`, error));

/** Content of a valid message of a device. `at`: time of receipt, milliseconds since the epoch. */
export type DeviceReport = { deviceId: string; at: number } &
  /**
   * `sentAt`: earliest possible send time, set when the message may have waited at the broker and newer ones overtook it. `isOverRate`: the
   * device sends faster than its history takes; all but the history takes it. `mayWait`: its sender does not wait for it to be on disk.
   */
  (
    | { kind: 'state'; state: Readonly<Record<string, unknown>>; sentAt?: number; isOverRate?: true; mayWait?: true }
    | { kind: 'event'; eventKind: string; data: Readonly<Record<string, unknown>>; isOverRate?: true }
    /** `quietSince`: offline is valid only if no message of the device arrived after this time. */
    | { kind: 'status'; status: 'online' | 'offline'; quietSince?: number }
    | { kind: 'handshake'; firmwareVersion: string; chip: string; kitTag: string | null }
    /** Its messages are faulty; null: they are good again. */
    | { kind: 'fault'; fault: Fault | null }
  );

/** How long events of devices and automation runs are kept. */
export const eventsKeptMs = 90 * 24 * 60 * 60 * 1000;
