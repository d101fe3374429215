import { Type, type Static, type TSchema } from 'typebox';
import type { DeviceTopicEnd } from './topics.ts';

/** Payloads of devices over MQTT: UTF-8 JSON objects (contracts, section 8). Unknown keys are ignored. */

const Short = Type.String({ minLength: 1, maxLength: 128 });

const Anything = Type.Optional(Type.Unknown());

/** Keys of a `DeviceType`. They are checked separately: a wrong description must not cost the handshake. */
const description = {
  category: Anything,
  names: Anything,
  icon: Anything,
  capabilities: Anything,
  commands: Anything,
  events: Anything,
  primary: Anything,
};

/** Sent after each connect; answered on `handshake/ack`. */
export const Handshake = Type.Object({
  type: Short,
  firmwareVersion: Short,
  chip: Short,
  kit_tag: Type.Optional(Type.Union([Type.String({ maxLength: 128 }), Type.Null()])),
  ...description,
});
export type Handshake = Static<typeof Handshake>;

export const HandshakeAck = Type.Object({ status: Type.Enum(['ok', 'unknown_device']) });
export type HandshakeAck = Static<typeof HandshakeAck>;

/**
 * The capabilities that changed, or all of them. The stored state has at most 256 of them and 64 KiB of JSON; new values beyond it are
 * dropped. A key or value that cannot be kept costs that key alone.
 */
export const DeviceState = Type.Object({ state: Type.Record(Type.String(), Type.Unknown()) });
export type DeviceState = Static<typeof DeviceState>;

/** Size of an event's `data` as JSON in UTF-8, bytes. */
export const maxEventDataBytes = 4 * 1024;

/** `user_event`: a person operated the device. `device_event`: all others, also `command_ack` and `ota_progress`. */
export const DeviceEventMessage = Type.Object({
  event: Type.Enum(['device_event', 'user_event']),
  data: Type.Object({ action: Short }, { additionalProperties: true }),
});
export type DeviceEventMessage = Static<typeof DeviceEventMessage>;

/** Longest key of a state or of an event's data, characters (Unicode code points). */
const maxKeyLength = 64;

/** Whether a key of a state or of an event's data is neither empty nor too long. */
export const isKeyLength = (key: string): boolean =>
  key.length > 0 && (key.length <= maxKeyLength || [...key].length <= maxKeyLength);

/** `offline` comes from the broker, as the device's last will. */
export const Heartbeat = Type.Object({ status: Type.Enum(['online', 'offline']) });
export type Heartbeat = Static<typeof Heartbeat>;

export const payloadSchemas = {
  handshake: Handshake,
  state: DeviceState,
  event: DeviceEventMessage,
  heartbeat: Heartbeat,
} as const satisfies Record<DeviceTopicEnd, TSchema>;
