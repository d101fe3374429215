import { Type, type Static, type TSchema } from 'typebox';
import { Flow } from './automation-flow.ts';
import { Id, Time } from './rest.ts';

/**
 * Bodies of /api/automations (contracts, sections 9 and 14). What a flow is: `automation-flow.ts`; what is wrong with one:
 * `automation-flow-check.ts`.
 *
 * Everyone who is logged in reads automations and runs and may start a published one; owner and admins write. To members, addresses and
 * bodies of webhooks are shown without what could be a secret.
 */

const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);
const closed = { additionalProperties: false } as const;
const Name = Type.String({ minLength: 1, maxLength: 100, pattern: '\\S' });

/** Of one station. */
export const maxAutomations = 200;
/** Runs of one automation that are started in a minute; what comes beyond is skipped. */
export const maxRunsPerMinute = 30;
/** Runs of one automation at a time, in mode `parallel`. */
export const maxParallelRuns = 10;
/** A delay that was overdue by more than this after the station was off ends its run as `missed`, milliseconds. */
export const maxDelayLateMs = 60 * 60 * 1000;
/** Newest runs of each automation that are kept. */
export const keptRuns = 100;

/**
 * What a trigger does while a run of the same automation is going on, counted from the first action: `restart` ends that run and begins
 * anew ("motion: lamp on, wait two minutes, lamp off"), `single` skips the new one, `parallel` does both. A run whose conditions are not
 * met disturbs nobody.
 */
export const RunMode = Type.Enum(['restart', 'single', 'parallel']);
export type RunMode = Static<typeof RunMode>;

/** One thing that is wrong with a flow. */
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
    'unknown_command',
    'command_not_allowed',
    'command_params',
  ]),
  pointer: Type.String({ description: 'RFC 6901 JSON pointer into the flow, e.g. "/nodes/2/data/config/deviceId".' }),
  nodeId: Nullable(Type.String({ description: 'Of the node that it is about.' })),
  message: Type.String({ description: 'In English, for people.' }),
});
export type FlowFault = Static<typeof FlowFault>;

/** `running`: something is being done; `waiting`: for a delay. The others are ends. */
export const RunStatus = Type.Enum([
  'running',
  'waiting',
  /** All was done; also when a condition was not met. */
  'completed',
  /** All was tried, and at least one action failed. */
  'failed',
  /** The station went down while an action was being done: whether it was done is not known, and it is not done again. */
  'interrupted',
  /** A delay was over while the station was off, and more than an hour ago. */
  'missed',
  /** A newer run took its place (mode `restart`). */
  'replaced',
  /** The automation was taken back to a draft meanwhile. */
  'stopped',
  /** Not begun: see `reason`. */
  'skipped',
]);
export type RunStatus = Static<typeof RunStatus>;

/** Why a run is not simply completed. */
export const RunReason = Type.Enum([
  /** `completed`: no condition let it come to an action. */
  'conditions_not_met',
  /** `skipped`: more than 30 in a minute. A loop of automations that start each other ends so. */
  'rate_limited',
  /** `skipped`: mode `single`, and one is going on. */
  'already_running',
  /** `skipped`: mode `parallel`, and ten are going on. */
  'too_many_parallel',
  /** `skipped`: the station stood still when it was time (schedule). */
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
    'failed',
    /** Of a command: the device did not confirm it in time; it may have carried it out. */
    'expired',
    /** Begun, and then the station went down. */
    'unknown',
    /** A delay whose run ended before. */
    'cancelled',
    /** A delay that was over too long ago. */
    'missed',
  ]),
  startedAt: Time,
  endedAt: Nullable(Time),
  dueAt: Nullable(Type.String({ description: 'Of a delay.' })),
  lateMs: Nullable(Type.Number({ description: 'How late a delay went on, when the station was off at its time.' })),
  detail: Nullable(Type.String({ description: 'In English, for people; never a secret.' })),
});
export type RunStep = Static<typeof RunStep>;

/** What started a run. */
export const RunTrigger = Type.Object({
  kind: Type.Enum(['device_event_received', 'device_state_changed', 'device_status_changed', 'schedule', 'manual']),
  nodeId: Nullable(Type.String({ description: 'Null when all triggers were started by hand.' })),
  deviceId: Nullable(Id),
  userId: Nullable(Type.String({ description: 'Who started it by hand.' })),
  data: Type.Record(Type.String(), Type.Unknown(), {
    description:
      'Of a state `capability`, `from`, `to`; of an event `event` and its `data`; of a status `status`; of a schedule `dueAt`.',
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

/** GET /api/automations/:id/runs?before=&limit= (user) → AutomationRun[], newest first; `before` is the id of the last one of the page before. */
export const AutomationRun = Type.Object({
  ...RunSummary.properties,
  steps: Type.Array(RunStep, { description: 'In the order they were begun; a node stands in it once.' }),
});
export type AutomationRun = Static<typeof AutomationRun>;
export const AutomationRuns = Type.Array(AutomationRun);
export const RunsQuery = Type.Object(
  { before: Type.Optional(Id), limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 20 })) },
  closed,
);

/** What is wrong with a published automation now. */
export const AutomationCondition = Type.Object({
  code: Type.Enum([
    /** Runs were skipped within the last five minutes, since there were too many: it may start itself in a loop. */
    'rate_limited',
    /** What was published no longer fits, e.g. a device was removed. */
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
  revision: Type.Integer({ description: 'Grows with each change.' }),
  hasUnpublishedChanges: Type.Boolean({ description: 'Published, and edited since.' }),
  conditions: Type.Array(AutomationCondition),
  nextRunAt: Nullable(Type.String({ description: 'Of its schedules, when it is published.' })),
  lastRun: Nullable(RunSummary),
  createdAt: Time,
  updatedAt: Time,
  publishedAt: Nullable(Time),
});
export type AutomationSummary = Static<typeof AutomationSummary>;
export const AutomationSummaries = Type.Array(AutomationSummary);

/** GET /api/automations/:id (user). */
export const Automation = Type.Object({
  ...AutomationSummary.properties,
  flow: Type.Object(Flow.properties, { description: 'As it is edited.' }),
  publishedFlow: Nullable(
    Type.Object(Flow.properties, {
      description: 'What is run; edits of `flow` come into it by publishing again.',
    }),
  ),
  faults: Type.Array(FlowFault, { description: 'Of `flow`.' }),
});
export type Automation = Static<typeof Automation>;

/**
 * POST /api/automations (station role admin) → 201 Automation, a draft; its flow may have faults. Errors: 409 conflict when there are
 * 200 already.
 */
export const NewAutomation = Type.Object(
  { name: Name, mode: Type.Optional(RunMode), flow: Type.Optional(Flow) },
  closed,
);
export type NewAutomation = Static<typeof NewAutomation>;

/**
 * PATCH /api/automations/:id (station role admin) → 200 Automation. The name counts at once; flow and mode of a published one count when
 * it is published again. With `revision`: 409 conflict when someone else changed it since.
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
 *   Runs that are going on end by the flow they began with.
 * POST /api/automations/:id/draft (station role admin) → 200 Automation, no longer run; its runs are stopped.
 * DELETE /api/automations/:id (station role admin) → 204, with all its runs.
 */

/**
 * POST /api/automations/:id/run (user) → 202 RunSummary: as if the trigger had come; a published one by its published flow, a draft (owner
 * and admins) by its draft. One that does not begin is `skipped` and says why each time, though few that are alike are kept among the runs.
 * Errors: 422 automation_invalid, 403 forbidden (a draft, for a member). The body may be left out.
 */
export const RunRequest = Type.Object(
  { nodeId: Type.Optional(Type.String({ maxLength: 64, description: 'The trigger to go on from; left out: all.' })) },
  closed,
);
export type RunRequest = Static<typeof RunRequest>;
