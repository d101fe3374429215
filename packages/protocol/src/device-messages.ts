import { Type, type Static, type TSchema } from 'typebox';
import type { DeviceTopicEnd } from './topics.ts';

/** Payloads of devices over MQTT: UTF-8 JSON objects (contracts, section 8). Keys that are not known are ignored: firmware grows. */

const Short = Type.String({ minLength: 1, maxLength: 128 });

/** Sent after each connect; answered on `handshake/ack`. */
export const Handshake = Type.Object({
  type: Short,
  firmwareVersion: Short,
  chip: Short,
  kit_tag: Type.Optional(Type.Union([Type.String({ maxLength: 128 }), Type.Null()])),
});
export type Handshake = Static<typeof Handshake>;

export const HandshakeAck = Type.Object({ status: Type.Enum(['ok', 'unknown_device']) });
export type HandshakeAck = Static<typeof HandshakeAck>;

/**
 * The capabilities that changed, or all of them. The whole state holds as many, and 256 KiB of JSON: what is new and has no room there is left
 * out.
 */
export const DeviceState = Type.Object({
  state: Type.Record(Type.String({ minLength: 1, maxLength: 64 }), Type.Unknown(), { maxProperties: 256 }),
});
export type DeviceState = Static<typeof DeviceState>;

/** `user_event`: someone did something at the device. `device_event`: the rest, also `command_ack` and `ota_progress`. */
export const DeviceEventMessage = Type.Object({
  event: Type.Enum(['device_event', 'user_event']),
  data: Type.Object({ action: Short }, { additionalProperties: true }),
});
export type DeviceEventMessage = Static<typeof DeviceEventMessage>;

/** `offline` comes from the broker, as the device's last will. */
export const Heartbeat = Type.Object({ status: Type.Enum(['online', 'offline']) });
export type Heartbeat = Static<typeof Heartbeat>;

/** What a device is told; the parameters of the action stand beside these. */
export const CommandMessage = Type.Object({ action: Short, commandId: Short }, { additionalProperties: true });
export type CommandMessage = Static<typeof CommandMessage>;

export const payloadSchemas = {
  handshake: Handshake,
  state: DeviceState,
  event: DeviceEventMessage,
  heartbeat: Heartbeat,
} as const satisfies Record<DeviceTopicEnd, TSchema>;
