import { describeError } from '@station/kit/station-error';
import type { ServerMessage } from '@station/protocol/socket';
import type { Log } from './log.ts';
import type { DeviceReport } from './device-report.ts';
import type { StatesBefore } from '../store/report-store.ts';

/** `pending` is followed by one of the others, unless the backend ends before. */
export type CommandStatus = 'pending' | 'confirmed' | 'failed' | 'expired';

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

/** What happens to devices. Told after it is on disk, in the order it happened. */
export type DeviceHappening =
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
  tell(happening: DeviceHappening): void;
  /** Listeners are called at once, one after another; one that throws is logged and does not stop the others. */
  subscribe(listener: (happening: DeviceHappening) => void): Disposable;
};

export function createDeviceEvents(log: Log): DeviceEvents {
  const listeners = new Set<(happening: DeviceHappening) => void>();
  return {
    tell: (happening) => {
      for (const listener of listeners) {
        try {
          listener(happening);
        } catch (error) {
          log.event('unexpected_error', { where: `device event ${happening.kind}`, message: describeError(error) });
        }
      }
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}
