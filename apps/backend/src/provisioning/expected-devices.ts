import { type Clock, isoTime } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import type { DeviceEvents } from '../core/device-events.ts';
import type { StationEvents } from '../core/station-events.ts';
import type { ExpectedDevices } from '../core/expected-devices-port.ts';
import type { EndStep, ProvisioningRow } from './provisioning-ends.ts';
import { type ProvisioningStore, toProvisioning } from './provisioning-store.ts';

export type Expected = ExpectedDevices &
  Disposable & {
    /** Time of the latest handshake since the last call, by device. */
    takeHandshakes(): Map<string, number>;
    /** @returns whether it had not ended before. */
    end(row: ProvisioningRow, step: EndStep): Promise<boolean>;
    /** Shows a change to people. */
    announce(row: ProvisioningRow): void;
  };

type Parts = {
  store: ProvisioningStore;
  events: DeviceEvents;
  /** For the activity. */
  stationEvents: StationEvents;
  clock: Clock;
  logger: BackendLogger;
};

/** A flood of messages of unknown devices must not cost a query each. */
const unexpectedMs = 1_000;
const maxRemembered = 1_000;

/** Recognises devices that are being added, when they log in and at their handshake. Opened before the broker, so that none is missed. */
export function openExpectedDevices(parts: Parts): Expected {
  const { store, events, clock } = parts;
  /** Until when no query is needed, monotonic milliseconds, by external id. */
  const unexpected = new Map<string, number>();
  /** Grows with every change of a provisioning. */
  let changes = 0;
  let handshakes = new Map<string, number>();
  const following = events.subscribe((event) => {
    if (event.kind === 'message' && event.message.type === 'provisioning_progress') {
      changes += 1;
      unexpected.delete(event.message.provisioning.externalId);
    } else if (event.kind === 'reports') {
      for (const { kind, deviceId, at } of event.reports) if (kind === 'handshake') handshakes.set(deviceId, at);
    }
  });
  const findOpen = async (externalId: string): Promise<ProvisioningRow | null> => {
    if ((unexpected.get(externalId) ?? -Infinity) > clock.monotonic()) return null;
    const before = changes;
    const row = await store.findOpen(externalId);
    // Noted only afterwards: the next message of an expected device comes while the query for its first one runs.
    if (row === null && changes === before) {
      if (unexpected.size >= maxRemembered) unexpected.clear();
      unexpected.set(externalId, clock.monotonic() + unexpectedMs);
    }
    return row;
  };
  const announce = (row: ProvisioningRow): void => announceProgress(parts, row);
  return {
    mayLogIn: async (externalId, tokenHash) => (await store.useLogin(externalId, tokenHash)) !== null,
    hasLogin: async (externalId) => (await store.findOpen(externalId))?.token_hash != null,
    receive: async (externalId, handshake) => {
      const row = await findOpen(externalId);
      // Until its login was made, it is a device as any other.
      if (row === null || row.token_hash === null) return 'not_expected';
      if (handshake === null) return 'expected';
      const added = await store.succeed(row, handshake);
      if (added === null) return 'expected';
      logEnd(parts, added);
      noteAdded(parts, added);
      events.emit({ kind: 'added', deviceId: added.device_id ?? '', externalId, isLoginKept: true });
      announce(added);
      return 'added';
    },
    takeHandshakes: () => {
      const taken = handshakes;
      handshakes = new Map();
      return taken;
    },
    end: async (row, step) => {
      const ended = await store.end(row, step);
      if (ended === null) return false;
      const { id, external_id: externalId, device_id: deviceId } = ended.row;
      logEnd(parts, ended.row);
      if (ended.isRevoked) events.emit({ kind: 'login_ended', deviceId: id, externalId });
      if (deviceId !== null) events.emit({ kind: 'changed', deviceId, externalId });
      announce(ended.row);
      return true;
    },
    announce,
    [Symbol.dispose]: () => following[Symbol.dispose](),
  };
}

function noteAdded({ stationEvents }: Parts, { device_id: deviceId, name, started_by: userId }: ProvisioningRow): void {
  if (deviceId === null) return;
  stationEvents.note('device_added', { deviceId, name }, userId === null ? {} : { userId });
}

function announceProgress({ events, clock }: Parts, row: ProvisioningRow): void {
  const provisioning = toProvisioning(row);
  const message = { type: 'provisioning_progress', at: isoTime(clock.now()), provisioning } as const;
  events.emit({ kind: 'message', message, key: `provisioning_progress ${row.id}` });
}

function logEnd({ logger }: Parts, row: ProvisioningRow): void {
  const { id: provisioningId, external_id: externalId, method, status, error, changed_at, started_at } = row;
  const durationMs = changed_at - started_at;
  logger.event('provisioning_ended', { provisioningId, externalId, method, status, error, durationMs });
}
