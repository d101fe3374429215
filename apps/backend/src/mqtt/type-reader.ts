import type { BackendLogger } from '@station/kit/logger';
import type { DeviceState, Handshake } from '@station/protocol/device-messages';
import type { DeviceReport } from '../core/device-events.ts';
import { acceptsHandshakeType, type DeviceTypeRegistry, type TypedDevice } from '../core/type-registry.ts';
import { readAsDeclared } from './declared-kinds-decide.ts';
import type { DroppedMessages } from './dropped-messages.ts';
import type { ReadPayload } from './read-payload.ts';

type KnownDevice = TypedDevice & { externalId: string };

type TypeReader = {
  /** A state by what the type of its device declares. A fault of the message itself comes before one of its kinds. */
  readState(device: KnownDevice, read: ReadPayload, topic: string): ReadPayload;
  /**
   * Reports when a device claims a type other than the stored one: each once, and one a minute of those that change. The record does not change:
   * commands are checked against the stored type, and a person decides which of the two is wrong.
   */
  differing(device: KnownDevice, reportedType: string, at: number): DeviceReport[];
  /** A device may describe itself (contracts, section 8a). */
  describe(device: KnownDevice, handshake: Handshake): void;
  /** Set while the description of the device is stored: what it sends next is read by it. Never rejects. */
  describing(deviceId: string): Promise<void> | undefined;
};

const againMs = 60_000;

/** What the type of a device means for its messages. */
export function createTypeReader(parts: {
  types: DeviceTypeRegistry;
  dropped: Pick<DroppedMessages, 'drop'>;
  logger: BackendLogger;
}): TypeReader {
  const { types, dropped, logger } = parts;
  /** `type`: null while it claims the stored one. `at`: of the last report. */
  const reported = new Map<string, { type: string | null; at: number }>();
  const describing = new Map<string, Promise<void>>();
  return {
    readState: (device, read, topic) => {
      if (read.body === undefined) return read;
      const { state: sent } = read.body as DeviceState;
      const { state, isWrong, isCut } = readAsDeclared(sent, types.of(device));
      if (isCut) dropped.drop('wrong_kind', topic, device.id);
      if (state === sent && !isWrong) return read;
      return { body: { state }, fault: read.fault ?? (isWrong ? 'wrong_kind' : null) };
    },
    differing: ({ id: deviceId, externalId, type }, reportedType, at) => {
      const last = reported.get(deviceId);
      if (acceptsHandshakeType(types, type, reportedType)) {
        if (last !== undefined) last.type = null;
        return [];
      }
      if (last !== undefined && (last.type === reportedType || Math.abs(at - last.at) < againMs)) return [];
      reported.set(deviceId, { type: reportedType, at });
      logger.event('device_type_differs', { externalId, type, reportedType });
      const data = { action: 'type_differs', type, reportedType };
      return [{ kind: 'event', deviceId, at, eventKind: 'station_event', data }];
    },
    describe: (device, handshake) => {
      const stored = types.describe(device, descriptionIn(handshake)).finally(() => {
        if (describing.get(device.id) === stored) describing.delete(device.id);
      });
      describing.set(device.id, stored);
    },
    describing: (deviceId) => describing.get(deviceId),
  };
}

/** Null: the device says nothing about itself. */
function descriptionIn(handshake: Handshake): Record<string, unknown> | null {
  const { type, capabilities, category, names, icon, commands, events, primary } = handshake;
  if (capabilities === undefined) return null;
  const given = Object.entries({ type, category, names, icon, capabilities, commands, events, primary });
  return Object.fromEntries(given.filter(([, value]) => value !== undefined));
}
