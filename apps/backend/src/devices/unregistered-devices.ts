import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { Handshake } from '@station/protocol/device-messages';
import type { BackendConditions } from '../core/conditions.ts';
import type { DeviceEvents } from '../core/device-events.ts';
import type { TrustedTime } from '../core/trusted-time.ts';
import type { ExpectedDevices } from '../core/expected-devices-port.ts';
import type { UnregisteredDevices } from '../mqtt/ports.ts';
import type { DeviceStore } from '../store/device-store.ts';
import { createRemovedDevices } from '../store/removed-device-store.ts';
import type { Database } from '../store/schema.ts';
import { startRemovedDevices } from './removed-devices.ts';
import { createUnknownDeviceStore } from './unknown-device-store.ts';
import type { StationEvents } from '../core/station-events.ts';
import { startUnknownDevices, type UnknownDevices } from './unknown-devices.ts';

export type RunningUnregisteredDevices = UnregisteredDevices & AsyncDisposable & { unknown: UnknownDevices };

/**
 * Devices that the station does not have: those that are being added become devices with their handshake, those that were removed here are
 * told so, any other one waits in silence.
 */
export function startUnregisteredDevices(parts: {
  db: Database;
  devices: Pick<DeviceStore, 'accept'>;
  expected: ExpectedDevices;
  wasAddedAgain: (removal: { externalId: string; deviceId: string }) => boolean;
  conditions: Pick<BackendConditions, 'set'>;
  events: DeviceEvents;
  stationEvents: StationEvents;
  trustedTime?: TrustedTime;
  clock: Clock;
  logger: BackendLogger;
}): RunningUnregisteredDevices {
  const { db, expected, logger } = parts;
  const removed = startRemovedDevices({ ...parts, removed: createRemovedDevices(db) });
  const unknown = startUnknownDevices({ ...parts, store: createUnknownDeviceStore(db) });
  return {
    unknown,
    receive: async (message) => {
      try {
        const { externalId, end, body } = message;
        const received = await expected.receive(externalId, end === 'handshake' ? (body as Handshake) : null);
        if (received === 'added') return { kind: 'added' };
        if (received === 'expected') return { kind: 'silence' };
        return (await removed.receive(message)) ?? (await unknown.receive(message));
      } catch (error) {
        logger.failed('a device that is not known', error);
        return { kind: 'silence' };
      }
    },
    mayLogIn: async (externalId, tokenHash) =>
      (await removed.mayLogIn(externalId, tokenHash)) ?? unknown.mayLogIn(externalId, tokenHash),
    [Symbol.asyncDispose]: async () => {
      await Promise.all([removed[Symbol.asyncDispose](), unknown[Symbol.asyncDispose]()]);
    },
  };
}
