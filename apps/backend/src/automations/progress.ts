import type { Clock } from '@station/kit/clock';
import type { CheckedFlow, CheckedNode } from '@station/protocol/automation-flow';
import type { Effect } from './actions.ts';
import { deviceOf, instantOf, judge, type ConditionFacts, type Judgement } from './flow-conditions.ts';
import { decideRun, type StepFact } from './automation-decide.ts';
import type { NotificationRow, RunChange, RunRow, StepRow } from './run-store.ts';

/** A point in time, by two clocks. */
export type RunTime = { wallMs: number; steadyMs: number };

export type BegunEffect = { node: CheckedNode; effect: Effect };

export type Progress = {
  /** Must be written to disk first. */
  change: RunChange;
  /** Actions to execute after that. */
  effects: BegunEffect[];
  /** End of the next delay. */
  until: number | null;
};

export type ProgressParts = {
  row: RunRow;
  name: string;
  flow: CheckedFlow;
  triggers: readonly string[];
  /** It goes on where a condition is not met. */
  ignoresConditions: boolean;
  /** Steps of the run; modified here. */
  steps: Map<string, StepRow>;
  time: RunTime;
  abandoned: boolean;
  leaseUntil: number;
  /** Waits whose condition was seen to be met, by node: it may be over already. */
  met: ReadonlyMap<string, Judgement>;
  factsOf: (deviceId: string | null) => Promise<ConditionFacts>;
  newId: () => string;
  clock: Clock;
};

/** Changes of a run, before they are on disk. */
type PendingChange = {
  begun: Map<string, StepRow>;
  ended: Map<string, RunChange['ended'][number]>;
  notifications: NotificationRow[];
  effects: BegunEffect[];
};

/**
 * Advances a run as far as possible without external actions: evaluates conditions, starts and ends delays, writes notifications. It stops
 * when an external action is due, when a delay must pass, or when the run ends.
 */
export async function progressRun(parts: ProgressParts): Promise<Progress> {
  const { flow, triggers, steps, time, abandoned, leaseUntil, clock } = parts;
  const pending: PendingChange = { begun: new Map(), ended: new Map(), notifications: [], effects: [] };
  const end = (run: Pick<RunRow, 'status' | 'reason'>): Progress =>
    toProgress(pending, { ...run, owner: null, lease_until: null, wake_at: null, ended_at: clock.now() }, null);

  for (;;) {
    const nowMs = time.wallMs + clock.monotonic() - time.steadyMs;
    const judged = await judgeWaits(parts);
    const facts = [...steps.values()].map(({ node_id, status, due_at }): StepFact => {
      const judgement = judged.get(node_id);
      return { nodeId: node_id, status, dueAt: due_at, ...(judgement && { isMet: judgement.met }) };
    });
    const decision = decideRun({ flow, triggers, steps: facts, nowMs, abandoned });
    switch (decision.kind) {
      case 'interrupt':
        endSteps(parts, pending, decision.nodeIds, { status: 'unknown', detail: unknownOutcome });
        cancelDelays(parts, pending);
        return end({ status: 'interrupted', reason: 'outcome_unknown' });
      case 'miss':
        endSteps(parts, pending, decision.nodeIds, { status: 'missed' });
        cancelDelays(parts, pending);
        return end({ status: 'missed', reason: 'delay_overdue' });
      case 'end_waits':
        for (const { nodeId, status, lateMs } of decision.waits) {
          const late = lateMs >= recordedLateMs ? { late_ms: lateMs } : {};
          endSteps(parts, pending, [nodeId], { status, ...late, ...recordOf(judged.get(nodeId)) });
        }
        break;
      case 'begin':
        for (const node of decision.nodes) await beginStep(parts, pending, node, nowMs);
        break;
      case 'busy':
        return toProgress(pending, { lease_until: leaseUntil }, decision.until);
      case 'wait': {
        const { until } = decision;
        return toProgress(pending, { status: 'waiting', owner: null, lease_until: null, wake_at: until }, until);
      }
      case 'end':
        return end({ status: decision.status, reason: decision.reason });
    }
  }
}

const unknownOutcome = 'The station went down meanwhile: whether it was done is not known.';

const toProgress = (
  { begun, ended, notifications, effects }: PendingChange,
  run: RunChange['run'],
  until: number | null,
): Progress => ({
  change: { run, begun: [...begun.values()], ended: [...ended.values()], notifications },
  effects,
  until,
});

function endSteps(
  { steps, clock }: ProgressParts,
  { begun, ended }: PendingChange,
  nodeIds: readonly string[],
  change: Pick<StepRow, 'status'> & Partial<StepRow>,
): void {
  for (const id of nodeIds) {
    const step = steps.get(id);
    if (step === undefined) continue;
    const now = { ...step, ended_at: clock.now(), ...change };
    steps.set(id, now);
    const { status, ended_at, detail, seen } = now;
    if (begun.has(id)) begun.set(id, now);
    else ended.set(id, { node_id: id, status, ended_at, detail, seen, ...lateOf(now) });
  }
}

function cancelDelays(parts: ProgressParts, pending: PendingChange): void {
  const delays = [...parts.steps.values()].filter(({ status }) => status === 'waiting');
  const nodeIds = delays.map(({ node_id }) => node_id);
  endSteps(parts, pending, nodeIds, { status: 'cancelled' });
}

async function beginStep(
  parts: ProgressParts,
  { begun, notifications, effects }: PendingChange,
  node: CheckedNode,
  nowMs: number,
): Promise<void> {
  const { step, notification, effect } = await begin(node, parts, nowMs);
  parts.steps.set(node.id, step);
  begun.set(node.id, step);
  if (notification !== undefined) notifications.push(notification);
  if (effect !== undefined) effects.push({ node, effect });
}

/** A delay that is less late than this counts as on time. */
const recordedLateMs = 2_000;
const lateOf = ({ late_ms }: StepRow): { late_ms?: number } =>
  late_ms === null ? {} : { late_ms: Math.round(late_ms) };

type ConditionNode = Extract<CheckedNode, { type: 'condition' }>;

async function judgeNow({ data }: ConditionNode, { factsOf }: ProgressParts): Promise<Judgement> {
  const condition = instantOf(data);
  return judge(condition, await factsOf(deviceOf(condition)));
}

/** The judgement of every `wait_until` that waits. */
async function judgeWaits(parts: ProgressParts): Promise<ReadonlyMap<string, Judgement>> {
  const judged = new Map<string, Judgement>();
  for (const node of parts.flow.nodes) {
    if (node.type !== 'condition' || parts.steps.get(node.id)?.status !== 'waiting') continue;
    judged.set(node.id, parts.met.get(node.id) ?? (await judgeNow(node, parts)));
  }
  return judged;
}

const recordOf = (judgement: Judgement | undefined): { detail?: string; seen?: string } =>
  judgement === undefined ? {} : { detail: judgement.detail, seen: JSON.stringify(judgement.seen) };

type Begun = { step: StepRow; effect?: Effect; notification?: NotificationRow };

async function begin(node: CheckedNode, parts: ProgressParts, runNowMs: number): Promise<Begun> {
  const { row, name, steps, clock } = parts;
  const now = clock.now();
  const base = {
    run_id: row.id,
    node_id: node.id,
    position: steps.size,
    kind: node.data.kind,
    started_at: now,
    ended_at: null,
    due_at: null,
    late_ms: null,
    detail: null,
    seen: null,
  };
  if (node.type === 'trigger') throw new Error('A trigger cannot have an incoming edge');
  if (node.type === 'condition') {
    const judgement = await judgeNow(node, parts);
    const record = recordOf(judgement);
    if (!judgement.met && parts.ignoresConditions) {
      return { step: { ...base, status: 'ignored', ended_at: now, ...record } };
    }
    if (node.data.kind === 'wait_until' && !judgement.met) {
      const due_at = Math.round(runNowMs + node.data.config.seconds * 1_000);
      return { step: { ...base, status: 'waiting', due_at, ...record } };
    }
    return { step: { ...base, status: judgement.met ? 'met' : 'not_met', ended_at: now, ...record } };
  }
  const { data } = node;
  switch (data.kind) {
    case 'delay':
      return { step: { ...base, status: 'waiting', due_at: Math.round(runNowMs + data.config.seconds * 1_000) } };
    case 'notify': {
      const { message } = data.config;
      const notification = {
        id: parts.newId(),
        automation_id: row.automation_id,
        automation_name: name,
        run_id: row.id,
        message,
        at: now,
      };
      return { step: { ...base, status: 'done', ended_at: now }, notification };
    }
    case 'device_command':
    case 'zone_command':
    case 'scene':
    case 'webhook':
      return { step: { ...base, status: 'running' }, effect: data };
  }
}
