import { Type, type Static } from 'typebox';
import { ActivityBy } from './activity.ts';
import { Dialect } from './gateways.ts';
import { Nullable } from './nullable.ts';
import { Id, Time } from './rest.ts';
import { nameText } from './text-fields.ts';

/** Bodies of /api/devices, /api/zones and /api/activity (contracts, section 9). */

const closed = { additionalProperties: false } as const;
export const DeviceName = Type.String(nameText);
/** The pattern of a plain `Type.String()` matches no line break, and answers contain only what matches. */
const AnyKey = Type.String({ pattern: '^[\\s\\S]*$' });
const JsonObject = Type.Record(AnyKey, Type.Unknown());

const deviceStatuses = ['unknown', 'online', 'offline'] as const;

/** Why a message of a device was not taken, or not completely. */
const deviceFaultCodes = {
  bad_encoding: 'The message is not UTF-8.',
  bad_shape: 'The message is not JSON of the expected form.',
  too_large: 'The message is larger than 256 KiB.',
  bad_key:
    'A key is empty, longer than 64 characters, contains a quote, backslash or control character, or is a name such as "constructor"; its value was dropped.',
  state_full: 'The state has more than 256 keys or 64 KiB; values that do not fit were dropped.',
  event_too_large: 'The data of an event is larger than 4 KiB; the event was dropped.',
  bad_value: 'A value is not finite, not valid text, or nested too deeply; it was dropped.',
  wrong_kind:
    'A value is not what the type of the device declares, for example text that is no number; what cannot be read was dropped.',
} as const;
export type DeviceFaultCode = keyof typeof deviceFaultCodes;

/** A device is connected but sends what cannot be used. A good message to the same topic clears it, and so does a handshake. */
export const DeviceFault = Type.Object({
  code: Type.Enum(Object.keys(deviceFaultCodes) as DeviceFaultCode[], {
    description: Object.entries(deviceFaultCodes)
      .map(([code, meaning]) => `${code}: ${meaning}`)
      .join(' '),
  }),
  at: Type.String({ description: 'Time of the latest such message.' }),
  count: Type.Integer({ description: 'Such messages in a row.' }),
});
export type DeviceFault = Static<typeof DeviceFault>;

/** History of a device that is not kept, or not any more. Its state is not affected. */
export const DroppedHistory = Type.Object({
  events: Type.Integer(),
  values: Type.Integer({ description: 'Values of its state that no chart shows.' }),
  reasons: Type.Array(Type.Enum(['rate', 'size']), {
    description:
      'rate: it sends faster than its history takes. size: the storage is full (STORAGE_MAX_MB), and of all devices its history takes most.',
  }),
  since: Type.String({ description: 'The counts start again after a quiet week.' }),
  at: Type.String({ description: 'The latest loss.' }),
});
export type DroppedHistory = Static<typeof DroppedHistory>;

/** By key of the state. */
export const StateTimes = Type.Record(AnyKey, Time, {
  description:
    'When a value was reported that the latest report, at `stateAt`, did not contain. Other values are from `stateAt`.',
});

/** Where a device comes from that does not speak with the station itself (ADR 82). */
const Origin = Type.Object({
  gatewayId: Id,
  dialect: Dialect,
  isGone: Type.Boolean({ description: 'The gateway does not announce it any more.' }),
});

/** GET /api/devices (user) → Device[], by name; GET /api/devices/:id (user) → Device. */
export const Device = Type.Object({
  id: Id,
  externalId: Type.String({ description: 'The id in MQTT topics.' }),
  type: Type.String(),
  name: Type.String(),
  zoneId: Nullable(Id),
  status: Type.Enum([...deviceStatuses], { description: '"unknown" until its first message.' }),
  statusAt: Nullable(Type.String({ description: 'Since when.' })),
  lastSeenAt: Nullable(Time),
  state: JsonObject,
  stateAt: Nullable(Time),
  stateTimes: StateTimes,
  fault: Nullable(DeviceFault),
  dropped: Nullable(DroppedHistory),
  firmwareVersion: Nullable(Type.String()),
  chip: Nullable(Type.String()),
  origin: Type.Optional(Origin),
  createdAt: Time,
});
export type Device = Static<typeof Device>;
export const Devices = Type.Array(Device);

/** Ids of the devices that are online and have sent something since the backend started, for the agent's check of a release. */
export const HeardDevices = Type.Object({ heard: Type.Array(Id) });

export const DevicePatch = Type.Object(
  { name: Type.Optional(DeviceName), zoneId: Type.Optional(Nullable(Id)) },
  { ...closed, minProperties: 1 },
);
export type DevicePatch = Static<typeof DevicePatch>;

/**
 * DELETE /api/devices/:id (station role admin) → DeviceRemoval; all its history goes. The device is told `factory_reset`: at once while it is
 * online, else after its next handshake, which is answered `unknown_device`. Its login stays until then, 30 days at most.
 */
export const DeviceRemoval = Type.Object({
  told: Type.Boolean({ description: 'The device was online, and the broker took the command.' }),
  loginUntil: Time,
});
export type DeviceRemoval = Static<typeof DeviceRemoval>;

/**
 * GET /api/devices/:id/events and GET /api/activity (user; `ActivityQuery`), newest first. `before` is the id of the last one on the
 * previous page.
 */
export const DeviceEvent = Type.Object({
  id: Id,
  deviceId: Type.Union([Id, Type.Null()], { description: 'Null for events of the station itself.' }),
  kind: Type.String({
    description:
      '"device_event", "user_event", …; "notification" is from an automation: `data` is `{ message, automationId, automationName }`. In the activity also "command" (`CommandEntry`), "automation_run" that did not succeed (`{ automationId, status, reason }`), and the kinds of `activityEvents`.',
  }),
  data: JsonObject,
  at: Time,
  by: Type.Optional(
    Type.Union([ActivityBy, Type.Null()], { description: 'In the activity: who or what did it; null: nobody.' }),
  ),
});
export type DeviceEvent = Static<typeof DeviceEvent>;
export const DeviceEvents = Type.Array(DeviceEvent);
export const EventsQuery = Type.Object(
  { before: Type.Optional(Id), limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })) },
  closed,
);

/** GET /api/zones (user) → Zone[], in the order of the household, then by name; POST (station role admin) → 201 Zone; PATCH /:id → Zone; DELETE /:id → 204, its devices stay. */
export const Zone = Type.Object({ id: Id, name: Type.String() });
export type Zone = Static<typeof Zone>;
export const Zones = Type.Array(Zone);
export const NewZone = Type.Object({ name: DeviceName }, closed);
export type NewZone = Static<typeof NewZone>;

/** PUT /api/zones/order (station role admin) → 204. Zones that are not named come after the others, by name. */
export const ZoneOrder = Type.Object({ ids: Type.Array(Id, { maxItems: 1_000, uniqueItems: true }) }, closed);
export type ZoneOrder = Static<typeof ZoneOrder>;

/** GET and PUT /api/favourites (user) → Favourites: the devices that a person wants first, in their order. */
export const Favourites = Type.Object({ deviceIds: Type.Array(Id, { maxItems: 100, uniqueItems: true }) }, closed);
export type Favourites = Static<typeof Favourites>;
