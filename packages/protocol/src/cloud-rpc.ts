import { Type, type Static, type TSchema } from 'typebox';
import { EventChannel, type EventChannel as Channel } from './cloud.ts';
import { Device } from './devices.ts';
import { DeviceTypes } from './device-types.ts';
import { Time } from './rest.ts';
import { SceneRun, Scenes } from './scenes.ts';

/** JSON-RPC 2.0 between station and cloud (specification, "Cloud JSON-RPC methods" and "Cloud notifications"; contracts, section 12). */

export const rpcErrors = {
  /** The message has the reason; the call had no effect. */
  failed: -32000,
  notAuthenticated: -32001,
  /** Too many calls at the same time; this call had no effect. */
  busy: -32002,
  /** The station stopped during the call, or the broker did not answer. The call may have had its effect; the station does not retry it. */
  outcomeUnknown: -32003,
  unknownDevice: -32004,
  deviceOffline: -32005,
  unknownScene: -32006,
  invalidRequest: -32600,
  unknownMethod: -32601,
  badParams: -32602,
  internal: -32603,
} as const;

/** Maximum number of calls in one batch; a larger batch gets one error. */
export const maxBatchCalls = 100;

const IdempotencyKey = Type.Optional(
  Type.String({
    minLength: 1,
    maxLength: 128,
    description:
      'A key that is repeated within 24 h has no second effect. Without it a call repeats one with the same id and content on the same connection within 15 s.',
  }),
);
const Repeated = Type.Optional(
  Type.Literal(true, { description: 'This call did nothing: an earlier one with its id or key has this result.' }),
);

export const DeviceCommandParams = Type.Object({
  deviceId: Type.String({ minLength: 1, maxLength: 128 }),
  command: Type.Object(
    { action: Type.String({ minLength: 1, maxLength: 64 }) },
    { additionalProperties: true, description: 'Further keys are the parameters of the action.' },
  ),
  idempotencyKey: IdempotencyKey,
});
export type DeviceCommandParams = Static<typeof DeviceCommandParams>;
const DeviceCommandResult = Type.Object({ status: Type.Literal('ok'), repeated: Repeated });

/** Every device of the scene, as `POST /api/scenes/:id/run`: a device that is offline does not stop the others. */
export const SceneRunParams = Type.Object({
  sceneId: Type.String({ minLength: 1, maxLength: 128 }),
  idempotencyKey: IdempotencyKey,
});
export type SceneRunParams = Static<typeof SceneRunParams>;
const SceneRunResult = Type.Object({ ...SceneRun.properties, repeated: Repeated });
const NoParams = Type.Union([Type.Object({}), Type.Array(Type.Unknown(), { maxItems: 0 })]);
const SetActiveChannelsParams = Type.Object({ channels: Type.Array(EventChannel, { maxItems: 64 }) });

/** Methods for the cloud. Before `auth_ok` each call is answered with -32001. */
export const cloudMethods = {
  'device.command': { params: DeviceCommandParams, result: DeviceCommandResult },
  'devices.snapshot': { params: NoParams, result: Type.Object({ devices: Type.Array(Device) }) },
  'device_types.list': { params: NoParams, result: Type.Object({ deviceTypes: DeviceTypes }) },
  'scenes.list': { params: NoParams, result: Type.Object({ scenes: Scenes }) },
  'scene.run': { params: SceneRunParams, result: SceneRunResult },
  'station.setActiveChannels': { params: SetActiveChannelsParams, result: Type.Object({ ok: Type.Literal(true) }) },
} as const satisfies Record<string, { params: TSchema; result: TSchema }>;
export type CloudMethod = keyof typeof cloudMethods;

const Id = Type.String();
/** When it happened. Clouds in the field read `timestamp`, earlier ones of this family `at`. */
const times = { at: Time, timestamp: Time };
/** Keys of messages that are kept until the cloud acknowledges their `seq`. A message that is sent again has the same `id`. */
const kept = { id: Type.String(), seq: Type.Integer() };

/** Notifications of the station: method → channel. */
export const cloudNotifications = {
  'device.stateChanged': {
    channel: 'state',
    params: Type.Object({ deviceId: Id, state: Type.Record(Type.String(), Type.Unknown()), ...times }),
  },
  'device.statusChanged': {
    channel: 'status',
    params: Type.Object({ deviceId: Id, status: Type.Enum(['online', 'offline']), ...times, ...kept }),
  },
  'device.event': {
    channel: 'events',
    params: Type.Object({
      deviceId: Id,
      kind: Type.String(),
      data: Type.Record(Type.String(), Type.Unknown()),
      ...times,
      ...kept,
    }),
  },
  'device.commandSent': {
    channel: 'commands',
    params: Type.Object({
      deviceId: Id,
      commandId: Id,
      action: Type.String(),
      status: Type.String(),
      ...times,
      ...kept,
    }),
  },
  'device.added': { channel: 'lifecycle', params: Type.Object({ deviceId: Id, externalId: Id, ...times, ...kept }) },
  'device.removed': { channel: 'lifecycle', params: Type.Object({ deviceId: Id, externalId: Id, ...times, ...kept }) },
  'automation.runCompleted': {
    channel: 'automations',
    params: Type.Object({ automationId: Id, runId: Id, status: Type.String(), ...times, ...kept }),
  },
  'firmware.progress': {
    channel: 'firmware',
    params: Type.Object({
      deviceId: Id,
      status: Type.String(),
      percent: Type.Union([Type.Number(), Type.Null()]),
      ...times,
      ...kept,
    }),
  },
  'station.event': {
    channel: 'system',
    params: Type.Object({ event: Type.String(), data: Type.Record(Type.String(), Type.Unknown()), ...times, ...kept }),
  },
} as const satisfies Record<string, { channel: Channel; params: TSchema }>;
export type CloudNotification = keyof typeof cloudNotifications;
