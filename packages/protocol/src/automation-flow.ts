import { Type, type Static, type TObject, type TSchema } from 'typebox';
import { Id } from './rest.ts';
import { httpAddress, seenForm, timeOfDay } from './text-fields.ts';

/**
 * The flow of an automation (contracts, section 14): a graph without cycles. A trigger starts a run, and every edge out of a node is
 * followed. A node runs once per run, on the first path that reaches it. Conditions decide whether a path continues. A failed action
 * is recorded, and the path continues.
 */

const closed = { additionalProperties: false } as const;

/** Limits of one flow. */
export const maxNodes = 100;
export const maxEdges = 300;
/** Longest wait of one step: 7 days. */
const maxDelaySeconds = 7 * 24 * 60 * 60;

/** A value of a device's state. */
export const StateValue = Type.Union([Type.Boolean(), Type.Number(), Type.String({ maxLength: 256 })]);
export type StateValue = Static<typeof StateValue>;

const operators = ['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const;
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
  ...timeOfDay,
  description: 'HH:MM in the time zone of the station.',
});
const Capability = Type.String({ minLength: 1, maxLength: 64, description: 'Key in the state of the device.' });

/** Farthest from sunrise or sunset, in minutes. */
const maxSunOffset = 360;
/** A time of the sun at the place of the station. */
export const SunTime = Type.Object(
  {
    event: Type.Enum(['sunrise', 'sunset']),
    offsetMinutes: Type.Optional(
      Type.Integer({ minimum: -maxSunOffset, maximum: maxSunOffset, description: 'Negative: before it.' }),
    ),
  },
  closed,
);
export type SunTime = Static<typeof SunTime>;

/** Configurations of the kinds of triggers. */
const triggerConfigs = {
  /** A device reported an event. */
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
   * A value changed. With `operator` and `value` the comparison must become true ("rose above 25"); further reports do not count.
   * Without them any change counts. Give both or neither.
   */
  device_state_changed: Type.Object(
    { deviceId: Id, capability: Capability, operator: Type.Optional(Operator), value: Type.Optional(StateValue) },
    closed,
  ),
  /** A device went online or offline. */
  device_status_changed: Type.Object(
    { deviceId: Id, status: Type.Optional(Type.Enum(['online', 'offline'], { description: 'Left out: either.' })) },
    closed,
  ),
  /** As `device_state_changed`, of any device that is in the zone when it reports; each device is compared with its own value before. */
  zone_state_changed: Type.Object(
    { zoneId: Id, capability: Capability, operator: Type.Optional(Operator), value: Type.Optional(StateValue) },
    closed,
  ),
  /**
   * One of `cron`, `time` and `sun`. A time that passed while the station was off is skipped, and so is `sun` on a day on which the sun
   * does not rise or set. `days` of `sun` are those of the noon between sunrise and sunset.
   */
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
      sun: Type.Optional(SunTime),
      days: Type.Optional(Days),
    },
    closed,
  ),
} as const satisfies Record<string, TObject>;

const TimeBound = Type.Union([TimeOfDay, SunTime]);

/** Conditions that are judged at once. A removed device, or one that never reported the value, meets none. */
const instantConfigs = {
  state_equals: Type.Object({ deviceId: Id, capability: Capability, value: StateValue }, closed),
  numeric_compare: Type.Object(
    { deviceId: Id, capability: Capability, operator: Operator, value: Type.Number() },
    closed,
  ),
  /**
   * From `from` until before `to`; past midnight when `to` is earlier, the whole day when they are equal. `days` are those of the start.
   * With the sun it goes past midnight from sunset to sunrise, from sunset to a time before 12:00, from a time since 12:00 to sunrise, from
   * sunrise to a time before 03:00, and from a time since 22:00 to sunset, in every season. On a day without sunrise the day is empty at
   * noon, on a day without sunset it is 24 hours long; offsets do not count on such days.
   */
  time_range: Type.Object({ from: TimeBound, to: TimeBound, days: Type.Optional(Days) }, closed),
} as const satisfies Record<string, TObject>;

const configOf = <K extends string, C extends TObject>(kind: K, config: C) =>
  Type.Object({ kind: Type.Literal(kind), config }, closed);

const conditionConfigs = {
  ...instantConfigs,
  /**
   * Waits until the condition is met, at most `seconds`. Met: the path of "true" continues; out of time: that of "false". Survives a
   * restart, as a delay does.
   */
  wait_until: Type.Object(
    {
      until: Type.Union([
        configOf('state_equals', instantConfigs.state_equals),
        configOf('numeric_compare', instantConfigs.numeric_compare),
        configOf('time_range', instantConfigs.time_range),
      ]),
      seconds: Type.Integer({ minimum: 1, maximum: maxDelaySeconds }),
    },
    closed,
  ),
} as const satisfies Record<string, TObject>;

/** Configurations of the kinds of actions. */
const actionConfigs = {
  /** Done when the device has confirmed it; failed when the device refuses, is offline or does not answer in time. */
  device_command: Type.Object(
    {
      deviceId: Id,
      action: Type.String({ minLength: 1, maxLength: 64 }),
      params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    },
    closed,
  ),
  /**
   * The command for each device of the zone whose type has it. Done when all have confirmed it; failed when one did not, and when there
   * is no such device.
   */
  zone_command: Type.Object(
    {
      zoneId: Id,
      action: Type.String({ minLength: 1, maxLength: 64 }),
      params: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    },
    closed,
  ),
  /**
   * The commands of a scene, in its order for each device. Done when all have confirmed theirs; failed when one did not. A scene that is
   * changed later is run as it is then.
   */
  scene: Type.Object({ sceneId: Id }, closed),
  /** Survives a restart. A delay that is more than an hour late then ends the run. */
  delay: Type.Object({ seconds: Type.Integer({ minimum: 1, maximum: maxDelaySeconds }) }, closed),
  /** A request that must be answered within 10 s, to a public address or one that AUTOMATION_WEBHOOK_ALLOW permits. */
  webhook: Type.Object(
    {
      url: Type.String({ minLength: 1, maxLength: 2048, ...httpAddress }),
      method: Type.Optional(Type.Enum(['POST', 'GET'], { default: 'POST' })),
      body: Type.Optional(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'JSON of a POST; left out: the automation, the run, and what started it.',
        }),
      ),
    },
    closed,
  ),
  /** An entry in the activity of the station, sent on /ws as `notification`. */
  notify: Type.Object({ message: Type.String({ minLength: 1, maxLength: 500, ...seenForm }) }, closed),
} as const satisfies Record<string, TObject>;

/** Commands that no automation may send: the station chooses their parameters, or the device would be lost. */
export const commandsNotForAutomations: readonly string[] = ['ota_update', 'wifi_update', 'factory_reset'];

export const nodeConfigs = {
  trigger: triggerConfigs,
  condition: conditionConfigs,
  action: actionConfigs,
} as const satisfies Record<string, Record<string, TObject>>;

type ConfigsOf<T extends Record<string, TSchema>> = { [K in keyof T]: { kind: K; config: Static<T[K]> } }[keyof T];
export type TriggerData = ConfigsOf<typeof triggerConfigs>;
export type ConditionData = ConfigsOf<typeof conditionConfigs>;
/** A condition that is judged at once. */
export type InstantCondition = ConfigsOf<typeof instantConfigs>;
export type ActionData = ConfigsOf<typeof actionConfigs>;

const NodeId = Type.String({ minLength: 1, maxLength: 64 });

/** A node of a draft: its kind may be unknown and its config invalid (see `checkFlow`). */
export const FlowNode = Type.Object(
  {
    id: NodeId,
    type: Type.Enum(['trigger', 'condition', 'action']),
    data: Type.Object(
      {
        kind: Type.String({ minLength: 1, maxLength: 64 }),
        config: Type.Record(Type.String(), Type.Unknown(), { description: 'Depends on the kind.' }),
      },
      closed,
    ),
    position: Type.Optional(
      Type.Object({ x: Type.Number(), y: Type.Number() }, { ...closed, description: 'Position in the drawing.' }),
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
        description:
          'Of an edge out of a condition: whether it is followed when the condition is met ("true", also when absent) or not.',
      }),
    ),
  },
  closed,
);
export type FlowEdge = Static<typeof FlowEdge>;

export const Flow = Type.Object(
  { nodes: Type.Array(FlowNode, { maxItems: 1_000 }), edges: Type.Array(FlowEdge, { maxItems: 3_000 }) },
  { ...closed, description: 'A draft may be larger than what can be published.' },
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
