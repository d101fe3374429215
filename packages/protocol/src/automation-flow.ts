import { Type, type Static, type TObject, type TSchema } from 'typebox';
import { Id } from './rest.ts';

/**
 * What an automation does (contracts, section 14): a graph without cycles. A trigger starts a run; every edge out of a node is followed;
 * a node is done once in a run, by whichever path comes to it first. Conditions decide whether a path goes on; an action that fails is
 * written down, and the path goes on.
 */

const closed = { additionalProperties: false } as const;

/** Limits of one flow. */
export const maxNodes = 100;
export const maxEdges = 300;
/** Longest wait of one delay: 7 days. */
export const maxDelaySeconds = 7 * 24 * 60 * 60;

/** A value of a device's state. */
export const StateValue = Type.Union([Type.Boolean(), Type.Number(), Type.String({ maxLength: 256 })]);
export type StateValue = Static<typeof StateValue>;

export const operators = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const;
export type Operator = (typeof operators)[number];
const Operator = Type.Enum([...operators], { description: '=, ≠, <, ≤, >, ≥' });

export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;
export type Weekday = (typeof weekdays)[number];
const Days = Type.Array(Type.Enum([...weekdays]), {
  minItems: 1,
  maxItems: 7,
  uniqueItems: true,
  description: 'Left out: every day.',
});

const TimeOfDay = Type.String({
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'HH:MM in the time zone of the station.',
});
const Capability = Type.String({ minLength: 1, maxLength: 64, description: 'Key in the state of the device.' });

/** Configurations of the kinds of triggers. */
export const triggerConfigs = {
  /** Something happened at a device. */
  device_event_received: Type.Object(
    {
      deviceId: Id,
      action: Type.Optional(
        Type.String({ minLength: 1, maxLength: 128, description: '`data.action` of the event; left out: any.' }),
      ),
      event: Type.Optional(Type.Enum(['device_event', 'user_event'])),
    },
    closed,
  ),
  /**
   * A value changed. With `operator` and `value`: it became so and was not so before ("rose over 25"), not at each report of it. Both
   * are given, or neither: then any change counts.
   */
  device_state_changed: Type.Object(
    { deviceId: Id, capability: Capability, operator: Type.Optional(Operator), value: Type.Optional(StateValue) },
    closed,
  ),
  /** A device came or went. */
  device_status_changed: Type.Object(
    { deviceId: Id, status: Type.Optional(Type.Enum(['online', 'offline'], { description: 'Left out: either.' })) },
    closed,
  ),
  /** Either `cron` or `time`. What falls into a time when the station was off is not done later. */
  schedule: Type.Object(
    {
      cron: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: 100,
          description: 'Five fields: minute, hour, day, month, day of the week.',
        }),
      ),
      time: Type.Optional(TimeOfDay),
      days: Type.Optional(Days),
    },
    closed,
  ),
} as const satisfies Record<string, TObject>;

/** Configurations of the kinds of conditions. A device that is gone or never reported the value meets none. */
export const conditionConfigs = {
  state_equals: Type.Object({ deviceId: Id, capability: Capability, value: StateValue }, closed),
  numeric_compare: Type.Object(
    { deviceId: Id, capability: Capability, operator: Operator, value: Type.Number() },
    closed,
  ),
  /** From `from` until before `to`; over midnight when `to` is the earlier one, the whole day when they are the same. `days`: of its beginning. */
  time_range: Type.Object({ from: TimeOfDay, to: TimeOfDay, days: Type.Optional(Days) }, closed),
} as const satisfies Record<string, TObject>;

/** Configurations of the kinds of actions. */
export const actionConfigs = {
  /** Done when the device has confirmed it; failed when it refused, is offline or did not answer in time. */
  device_command: Type.Object(
    {
      deviceId: Id,
      action: Type.String({ minLength: 1, maxLength: 64 }),
      params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    },
    closed,
  ),
  /** Survives a restart; one that is more than an hour late by then ends the run. */
  delay: Type.Object({ seconds: Type.Integer({ minimum: 1, maximum: maxDelaySeconds }) }, closed),
  /** A request with 10 s for its answer; only to public addresses, and those that the station's configuration allows. */
  webhook: Type.Object(
    {
      url: Type.String({ minLength: 1, maxLength: 2048, pattern: '^https?://' }),
      method: Type.Optional(Type.Enum(['POST', 'GET'], { default: 'POST' })),
      body: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'JSON of a POST; left out: the automation, the run, and what started it.',
        }),
      ),
    },
    closed,
  ),
  /** An entry in the activity of the station, told at /ws as `notification`. */
  notify: Type.Object({ message: Type.String({ minLength: 1, maxLength: 500, pattern: '\\S' }) }, closed),
} as const satisfies Record<string, TObject>;

/** Commands that no automation may send: they need parameters that are the station's own, or lose the device. */
export const commandsNotForAutomations: readonly string[] = ['ota_update', 'wifi_update', 'factory_reset'];

export const nodeConfigs = {
  trigger: triggerConfigs,
  condition: conditionConfigs,
  action: actionConfigs,
} as const satisfies Record<string, Record<string, TObject>>;

type ConfigsOf<T extends Record<string, TSchema>> = { [K in keyof T]: { kind: K; config: Static<T[K]> } }[keyof T];
export type TriggerData = ConfigsOf<typeof triggerConfigs>;
export type ConditionData = ConfigsOf<typeof conditionConfigs>;
export type ActionData = ConfigsOf<typeof actionConfigs>;

const NodeId = Type.String({ minLength: 1, maxLength: 64 });

/** As it may stand in a draft: its kind may be unknown and its config wrong (see `checkFlow`). */
export const FlowNode = Type.Object(
  {
    id: NodeId,
    type: Type.Enum(['trigger', 'condition', 'action']),
    data: Type.Object(
      {
        kind: Type.String({ minLength: 1, maxLength: 64 }),
        config: Type.Record(Type.String(), Type.Unknown(), { description: 'As the kind asks.' }),
      },
      closed,
    ),
    position: Type.Optional(
      Type.Object({ x: Type.Number(), y: Type.Number() }, { ...closed, description: 'For who draws it.' }),
    ),
  },
  closed,
);
export type FlowNode = Static<typeof FlowNode>;

export const FlowEdge = Type.Object(
  {
    id: NodeId,
    source: NodeId,
    target: NodeId,
    sourceHandle: Type.Optional(
      Type.Enum(['true', 'false'], {
        default: 'true',
        description: 'Out of a condition: followed when it is met ("true", also when left out) or when it is not.',
      }),
    ),
  },
  closed,
);
export type FlowEdge = Static<typeof FlowEdge>;

export const Flow = Type.Object(
  { nodes: Type.Array(FlowNode, { maxItems: 1_000 }), edges: Type.Array(FlowEdge, { maxItems: 3_000 }) },
  { ...closed, description: 'A larger one than can be published may be kept as a draft.' },
);
export type Flow = Static<typeof Flow>;

/** A node of a flow in which `checkFlow` finds no error. */
export type CheckedNode = { id: string } & (
  | { type: 'trigger'; data: TriggerData }
  | { type: 'condition'; data: ConditionData }
  | { type: 'action'; data: ActionData }
);
/** A flow in which `checkFlow` finds no error. */
export type CheckedFlow = { nodes: readonly CheckedNode[]; edges: readonly FlowEdge[] };
