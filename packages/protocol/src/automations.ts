import { Type, type Static } from 'typebox';
import { Flow, weekdays } from './automation-flow.ts';
import { Nullable } from './nullable.ts';
import { Id, Time } from './rest.ts';
import { optionalNameForm } from './text-fields.ts';

/**
 * Bodies of /api/automations (contracts, sections 9 and 14). Flows are defined in `automation-flow.ts` and checked in
 * `automation-flow-check.ts`.
 *
 * Every user reads automations and runs, and may start a published automation. Owner and admins edit. Members see addresses and
 * bodies of webhooks without anything that could be a secret.
 */

const closed = { additionalProperties: false } as const;
/** Empty: it is called what it does, in the reader's language. */
const Name = Type.String({ maxLength: 100, ...optionalNameForm });

/** Automations of one station. */
export const maxAutomations = 200;
/** Runs of one automation that may start in a minute; further ones are skipped. */
export const maxRunsPerMinute = 30;
/** Runs of one automation at a time, in mode `parallel`. */
export const maxParallelRuns = 10;
/** A delay that was overdue by more than this after the station was off ends its run as `missed`, milliseconds. */
export const maxDelayLateMs = 60 * 60 * 1000;
/** Newest runs of each automation that are kept. */
export const keptRuns = 100;

/**
 * What a trigger does while another run of the automation is active, that is, past its first action. `restart` ends that run and starts
 * again ("motion: lamp on, wait two minutes, lamp off"), `single` skips the new run, `parallel` runs both. A run whose conditions are
 * not met affects no other run.
 */
export const RunMode = Type.Enum(['restart', 'single', 'parallel']);
export type RunMode = Static<typeof RunMode>;

/** One fault of a flow. */
export const FlowFault = Type.Object({
  severity: Type.Enum(['error', 'warning'], { description: 'A flow with an error cannot be published.' }),
  code: Type.Enum([
    'no_trigger',
    'too_many_nodes',
    'too_many_edges',
    'duplicate_node',
    'duplicate_edge',
    'dangling_edge',
    'edge_into_trigger',
    'edge_handle',
    'cycle',
    'unreachable',
    'unknown_kind',
    'config_invalid',
    'schedule_invalid',
    'unknown_device',
    'unknown_zone',
    'unknown_scene',
    /** It follows the sun, and the station has no place. */
    'no_place',
    'unknown_command',
    'command_not_allowed',
    'command_params',
  ]),
  pointer: Type.String({ description: 'RFC 6901 JSON pointer into the flow, e.g. "/nodes/2/data/config/deviceId".' }),
  nodeId: Nullable(Type.String({ description: 'The node that it concerns.' })),
  message: Type.String({ description: 'In English, for people.' }),
});
export type FlowFault = Static<typeof FlowFault>;

/** `running`: a step is in progress; `waiting`: a delay is in progress. All others are final. */
export const RunStatus = Type.Enum([
  'running',
  'waiting',
  /** All steps were done, or a condition was not met. */
  'completed',
  /** All steps were tried, and at least one action failed. */
  'failed',
  /** The station stopped during an action. Its result is unknown, and it is not repeated. */
  'interrupted',
  /** A delay ended while the station was off, more than an hour ago. */
  'missed',
  /** A newer run took its place (mode `restart`). */
  'replaced',
  /** The automation became a draft again meanwhile. */
  'stopped',
  /** Not started; see `reason`. */
  'skipped',
]);
export type RunStatus = Static<typeof RunStatus>;

/** Why a run is not simply completed. */
export const RunReason = Type.Enum([
  /** `completed`: no condition was met, so no action ran. */
  'conditions_not_met',
  /** `skipped`: more than 30 in a minute. This ends a loop of automations that start each other. */
  'rate_limited',
  /** `skipped`: mode `single`, and a run is active. */
  'already_running',
  /** `skipped`: mode `parallel`, and ten runs are active. */
  'too_many_parallel',
  /** `skipped`: the station was suspended at the scheduled time. */
  'schedule_missed',
  /** `failed`. */
  'action_failed',
  /** `interrupted`. */
  'outcome_unknown',
  /** `missed`. */
  'delay_overdue',
  /** `replaced`. */
  'new_trigger',
  /** `stopped`. */
  'unpublished',
]);
export type RunReason = Static<typeof RunReason>;

/** What a step saw, to be shown in the reader's language. */
export const StepSeen = Type.Object({
  /** The compared value of the device; null: it never reported one, or there is no such device. Long texts are cut. */
  value: Type.Optional(Nullable(Type.Union([Type.Boolean(), Type.Number(), Type.String()]))),
  /** The local time, HH:MM, and its weekday. */
  time: Type.Optional(Type.String()),
  weekday: Type.Optional(Type.Enum([...weekdays])),
  /** Bounds of the range on that day, HH:MM, where they follow the sun. */
  from: Type.Optional(Type.String()),
  to: Type.Optional(Type.String()),
  /** Of a command for a zone, or a scene: what became of it at each device, at most 50 of them. */
  devices: Type.Optional(
    Type.Array(Type.Object({ deviceId: Id, status: Type.Enum(['done', 'failed', 'expired', 'offline']) })),
  ),
});
export type StepSeen = Static<typeof StepSeen>;

export const RunStep = Type.Object({
  nodeId: Type.String(),
  kind: Type.String(),
  status: Type.Enum([
    'running',
    'waiting',
    /** An action that succeeded, a delay that is over. */
    'done',
    /** A condition. */
    'met',
    'not_met',
    /** A condition that was not met, in a run that ignores conditions. */
    'ignored',
    'failed',
    /** The device did not confirm the command in time; it may have executed it. */
    'expired',
    /** The station stopped during the step. */
    'unknown',
    /** A delay whose run ended earlier. */
    'cancelled',
    /** A delay that ended too long ago. */
    'missed',
  ]),
  startedAt: Time,
  endedAt: Nullable(Time),
  dueAt: Nullable(Type.String({ description: 'End of a delay; time limit of `wait_until`.' })),
  lateMs: Nullable(
    Type.Number({ description: 'How late the run continued after a delay that ended while the station was off.' }),
  ),
  detail: Nullable(Type.String({ description: 'In English, for people; never a secret.' })),
  seen: Nullable(StepSeen),
});
export type RunStep = Static<typeof RunStep>;

/** What started a run. */
export const RunTrigger = Type.Object({
  kind: Type.Enum([
    'device_event_received',
    'device_state_changed',
    'device_status_changed',
    'zone_state_changed',
    'schedule',
    'manual',
  ]),
  nodeId: Nullable(Type.String({ description: 'Null when a user started all triggers manually.' })),
  deviceId: Nullable(Id),
  userId: Nullable(Type.String({ description: 'The user who started it manually.' })),
  ignoresConditions: Type.Optional(Type.Boolean({ description: 'It goes on where a condition is not met.' })),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'State: `capability`, `from`, `to`. Event: `event` and its `data`. Status: `status`. Schedule: `dueAt`.',
  }),
});
export type RunTrigger = Static<typeof RunTrigger>;

/** A run without its steps: in lists of automations and at /ws. */
export const RunSummary = Type.Object({
  id: Id,
  automationId: Id,
  status: RunStatus,
  reason: Nullable(RunReason),
  trigger: RunTrigger,
  startedAt: Time,
  endedAt: Nullable(Time),
});
export type RunSummary = Static<typeof RunSummary>;

/** GET /api/automations/:id/runs?before=&limit= (user) → AutomationRun[], newest first; `before` is the id of the last one on the previous page. */
export const AutomationRun = Type.Object({
  ...RunSummary.properties,
  steps: Type.Array(RunStep, { description: 'In the order of their start; each node at most once.' }),
});
export type AutomationRun = Static<typeof AutomationRun>;
export const AutomationRuns = Type.Array(AutomationRun);
export const RunsQuery = Type.Object(
  { before: Type.Optional(Id), limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })) },
  closed,
);

/** A condition of a published automation. */
export const AutomationCondition = Type.Object({
  code: Type.Enum([
    /** Runs were skipped within the last five minutes because there were too many: perhaps a loop. */
    'rate_limited',
    /** The published flow is no longer valid, for example because a device was removed. */
    'flow_broken',
  ]),
  message: Type.String({ description: 'In English, for people.' }),
});
export type AutomationCondition = Static<typeof AutomationCondition>;

/** GET /api/automations (user) → AutomationSummary[], by name. */
export const AutomationSummary = Type.Object({
  id: Id,
  name: Type.String(),
  status: Type.Enum(['draft', 'published']),
  mode: RunMode,
  revision: Type.Integer({ description: 'Increases with each change.' }),
  hasUnpublishedChanges: Type.Boolean({ description: 'Published, and edited since.' }),
  conditions: Type.Array(AutomationCondition),
  nextRunAt: Nullable(Type.String({ description: 'Next run of its schedules, if it is published.' })),
  lastRun: Nullable(RunSummary),
  createdAt: Time,
  updatedAt: Time,
  publishedAt: Nullable(Time),
});
export type AutomationSummary = Static<typeof AutomationSummary>;
export const AutomationSummaries = Type.Array(AutomationSummary);

export const Automation = Type.Object({
  ...AutomationSummary.properties,
  flow: Type.Object(Flow.properties, { description: 'The draft.' }),
  publishedFlow: Nullable(
    Type.Object(Flow.properties, {
      description: 'The flow that runs. Publishing again replaces it with `flow`.',
    }),
  ),
  faults: Type.Array(FlowFault, { description: 'Faults of `flow`.' }),
});
export type Automation = Static<typeof Automation>;

/**
 * POST /api/automations (station role admin) → 201 Automation, a draft; its flow may have faults. Errors: 409 conflict when there are
 * already 200.
 */
export const NewAutomation = Type.Object(
  { name: Name, mode: Type.Optional(RunMode), flow: Type.Optional(Flow) },
  closed,
);
export type NewAutomation = Static<typeof NewAutomation>;

/**
 * PATCH /api/automations/:id (station role admin) → 200 Automation. The name changes at once. Flow and mode of a published automation change when
 * it is published again. With `revision`: 409 conflict when somebody else has changed it since.
 */
export const AutomationPatch = Type.Object(
  {
    name: Type.Optional(Name),
    mode: Type.Optional(RunMode),
    flow: Type.Optional(Flow),
    revision: Type.Optional(Type.Integer({ minimum: 0 })),
  },
  { ...closed, minProperties: 1 },
);
export type AutomationPatch = Static<typeof AutomationPatch>;

/*
 * POST /api/automations/:id/publish (station role admin) → 200 Automation; 422 automation_invalid with `details: { faults: FlowFault[] }`.
 *   Active runs continue with the flow with which they started.
 * POST /api/automations/:id/draft (station role admin) → 200 Automation, no longer run; its runs are stopped.
 * DELETE /api/automations/:id (station role admin) → 204, with all its runs.
 */

/**
 * POST /api/automations/:id/run (user) → 202 RunSummary: runs as if triggered. A published automation runs its published flow, a draft
 * its draft (owner and admins only). A run that cannot start is `skipped` with its reason; only a few equal ones are kept.
 * Errors: 422 automation_invalid, 403 forbidden (a draft, or without its conditions, for a member). The body is optional.
 */
export const RunRequest = Type.Object(
  {
    nodeId: Type.Optional(Type.String({ maxLength: 64, description: 'The trigger to start from; absent: all.' })),
    ignoreConditions: Type.Optional(
      Type.Boolean({ description: 'Owner and admins only: go on where a condition is not met, and wait for none.' }),
    ),
  },
  closed,
);
export type RunRequest = Static<typeof RunRequest>;

/**
 * POST /api/automations/test (station role admin) → 200 TestTrace: what a flow would do now. Conditions are judged with the present values; no
 * action is done, nothing waits and nothing is stored. Errors: 422 automation_invalid.
 */
export const TestRequest = Type.Object(
  {
    flow: Flow,
    ignoreConditions: Type.Optional(
      Type.Boolean({ description: 'As a run that goes on where a condition is not met.' }),
    ),
  },
  closed,
);
export type TestRequest = Static<typeof TestRequest>;
export const TestStep = Type.Object({
  nodeId: Type.String(),
  kind: Type.String(),
  outcome: Type.Enum([
    'met',
    'not_met',
    /** A condition that is not met, in a test that ignores conditions. */
    'would_ignore',
    /** `wait_until`: it would wait. The trace continues as if the condition became true. */
    'would_wait',
    /** An action or a delay. */
    'would_do',
    /** A command whose devices are all offline or gone. */
    'would_fail',
  ]),
  seen: Nullable(StepSeen),
});
export type TestStep = Static<typeof TestStep>;
export const TestTrace = Type.Object({ steps: Type.Array(TestStep, { description: 'In the order of a run.' }) });
export type TestTrace = Static<typeof TestTrace>;
