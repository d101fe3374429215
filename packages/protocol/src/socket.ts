import { Type, type Static } from 'typebox';
import { RunSummary } from './automations.ts';
import { CloudStatusMessage } from './cloud.ts';
import { DeviceCommand } from './device-commands.ts';
import { StateTimes } from './devices.ts';
import { DevicesWifiMessage } from './devices-wifi.ts';
import { FirmwareRolloutMessage } from './firmware-rollouts.ts';
import { CandidateLostMessage, CandidateMessage, ProvisioningProgressMessage, RadioMessage } from './provisioning.ts';
import { Id, Role, Time } from './rest.ts';

/**
 * Messages of the frontend WebSocket `/ws` (contracts, section 10). One JSON object per text frame.
 *
 * The first client message must be `auth`, within 5 s; a fresh `auth` may follow at any time and extends the link, which ends with
 * close 4401 when its token expires. A client ignores a server message whose `type` it does not know.
 */

export const authDeadlineMs = 5_000;
/** Largest message of a client, bytes; beyond it close 1009. Before the log-in it sends no more than this in all. */
export const maxClientFrameBytes = 4096;

/** Close codes beyond those of RFC 6455. */
export const closeCodes = {
  /** RFC 6455: the backend stops or is updated; reconnect with backoff. */
  goingAway: 1001,
  /** RFC 6455: not a JSON object of a known type. */
  badMessage: 1008,
  /** RFC 6455: a message over `maxClientFrameBytes`. */
  tooBig: 1009,
  /**
   * RFC 6455, section 7.4.1 registry: the client is too far behind, there are too many, or its replica lost its connection to the others; reconnect and start
   * from the replayed state.
   */
  tryLater: 1013,
  /** No, bad or expired token: get a new one, then reconnect. */
  unauthorized: 4401,
} as const;

const AuthMessage = Type.Object({
  type: Type.Literal('auth'),
  token: Type.String({ minLength: 1, maxLength: 4000 }),
});
/** Answered by `pong`. Browsers hide the protocol's own pings, so a page detects a dead link this way. */
const PingMessage = Type.Object({ type: Type.Literal('ping') });
export const ClientMessage = Type.Union([AuthMessage, PingMessage]);
export type ClientMessage = Static<typeof ClientMessage>;

/** First message after a good `auth`; sent again after each further `auth`. */
export const HelloMessage = Type.Object({
  type: Type.Literal('hello'),
  at: Time,
  version: Type.String({ description: 'Release version of the backend: reload the page when it changed.' }),
  station: Type.Object({ id: Type.Union([Type.String(), Type.Null()]), name: Type.String() }),
  user: Type.Object({ id: Id, role: Role }),
  tokenExpiresAt: Time,
});
export type HelloMessage = Static<typeof HelloMessage>;

const PongMessage = Type.Object({ type: Type.Literal('pong'), at: Time });

/** A live log event of the agent (contracts, section 6), or a change of the link to the agent. */
export const AgentEvent = Type.Object(
  { time: Time, level: Type.String(), event: Type.String() },
  { additionalProperties: true, description: 'Further fields are in the event catalogue.' },
);
export type AgentEvent = Static<typeof AgentEvent>;
const AgentEventMessage = Type.Object({ type: Type.Literal('agent_event'), at: Time, event: AgentEvent });
type AgentEventMessage = Static<typeof AgentEventMessage>;

/** Whether the backend receives the agent's events. Sent on change and after `hello`; when it is back, read /api/system/status again. */
const AgentLinkMessage = Type.Object({ type: Type.Literal('agent_link'), at: Time, connected: Type.Boolean() });
type AgentLinkMessage = Static<typeof AgentLinkMessage>;

/** The whole known state of a device, not only the latest report. Each message replaces the earlier ones. */
const DeviceStateMessage = Type.Object({
  type: Type.Literal('device_state'),
  at: Time,
  deviceId: Id,
  state: Type.Record(Type.String(), Type.Unknown()),
  stateAt: Time,
  stateTimes: StateTimes,
});
const DeviceStatusMessage = Type.Object({
  type: Type.Literal('device_status'),
  at: Time,
  deviceId: Id,
  status: Type.Enum(['unknown', 'online', 'offline']),
});
/** A device reported an event; GET its events for the record. */
const DeviceEventMessage = Type.Object({
  type: Type.Literal('device_event'),
  at: Time,
  deviceId: Id,
  kind: Type.String(),
  data: Type.Record(Type.String(), Type.Unknown()),
});
/** Progress of a command: first pending, then its result. */
const DeviceCommandMessage = Type.Object({
  type: Type.Literal('device_command'),
  at: Time,
  ...DeviceCommand.properties,
});
/** A device was added, renamed or moved, or its fault began or ended: read it again. */
const DeviceChangedMessage = Type.Object({ type: Type.Literal('device_changed'), at: Time, deviceId: Id });
const DeviceRemovedMessage = Type.Object({ type: Type.Literal('device_removed'), at: Time, deviceId: Id });
/** A device type was added or changed: read GET /api/device-types again. */
const DeviceTypesChangedMessage = Type.Object({ type: Type.Literal('device_types_changed'), at: Time });
/** A zone was added, renamed, moved or removed: read GET /api/zones again. */
const ZonesChangedMessage = Type.Object({ type: Type.Literal('zones_changed'), at: Time });
/** There is something new in the activity that no other message tells. */
const ActivityChangedMessage = Type.Object({ type: Type.Literal('activity_changed'), at: Time });
/** A scene was added, changed or removed: read GET /api/scenes again. */
const ScenesChangedMessage = Type.Object({ type: Type.Literal('scenes_changed'), at: Time });
/** A condition was raised or cleared, or its details changed: read GET /api/conditions and GET /api/unknown-devices again. */
const ConditionsChangedMessage = Type.Object({ type: Type.Literal('conditions_changed'), at: Time });
type DeviceRemovedMessage = Static<typeof DeviceRemovedMessage>;
type DeviceStateMessage = Static<typeof DeviceStateMessage>;
type DeviceStatusMessage = Static<typeof DeviceStatusMessage>;
type DeviceEventMessage = Static<typeof DeviceEventMessage>;
type DeviceCommandMessage = Static<typeof DeviceCommandMessage>;

/** A run of an automation began or ended. GET /api/automations/:id/runs has its steps. */
const AutomationRunMessage = Type.Object({ type: Type.Literal('automation_run'), at: Time, run: RunSummary });
/** An automation was added, edited, published, unpublished or removed: read it again. */
const AutomationChangedMessage = Type.Object({
  type: Type.Literal('automation_changed'),
  at: Time,
  automationId: Id,
});
/** A notification of an automation; it is also in the activity. */
const NotificationMessage = Type.Object({
  type: Type.Literal('notification'),
  at: Time,
  id: Id,
  automationId: Id,
  automationName: Type.String(),
  message: Type.String(),
});
type AutomationRunMessage = Static<typeof AutomationRunMessage>;
type NotificationMessage = Static<typeof NotificationMessage>;

export const ServerMessage = Type.Union([
  HelloMessage,
  PongMessage,
  AgentEventMessage,
  AgentLinkMessage,
  DeviceStateMessage,
  DeviceStatusMessage,
  DeviceEventMessage,
  DeviceCommandMessage,
  DeviceChangedMessage,
  DeviceRemovedMessage,
  DeviceTypesChangedMessage,
  ZonesChangedMessage,
  ScenesChangedMessage,
  ActivityChangedMessage,
  ConditionsChangedMessage,
  DevicesWifiMessage,
  CandidateMessage,
  CandidateLostMessage,
  ProvisioningProgressMessage,
  RadioMessage,
  FirmwareRolloutMessage,
  AutomationRunMessage,
  AutomationChangedMessage,
  NotificationMessage,
  CloudStatusMessage,
]);
export type ServerMessage = Static<typeof ServerMessage>;
