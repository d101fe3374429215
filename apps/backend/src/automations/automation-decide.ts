import type { CheckedFlow, CheckedNode } from '@station/protocol/automation-flow';
import { maxDelayLateMs, type RunReason, type RunStatus, type RunStep } from '@station/protocol/automations';

/** Stored step of a node that was started. */
export type StepFact = {
  nodeId: string;
  status: RunStep['status'];
  dueAt: number | null;
  /** Of a `wait_until` that waits: whether its condition is met now. */
  isMet?: boolean;
};

export type RunFacts = {
  flow: CheckedFlow;
  /** The triggers that fired. */
  triggers: readonly string[];
  /** Started steps, at most one for each node. */
  steps: readonly StepFact[];
  /** Milliseconds since the epoch. */
  nowMs: number;
  /** The owner process is gone: the outcome of `running` steps will never be known. */
  abandoned: boolean;
};

export type RunDecision =
  /** These were started, and their outcome is unknown. */
  | { kind: 'interrupt'; nodeIds: readonly string[] }
  /** These waits ended too long ago. */
  | { kind: 'miss'; nodeIds: readonly string[] }
  /** `lateMs`: since a delay or a time limit ended. */
  | { kind: 'end_waits'; waits: readonly { nodeId: string; status: 'done' | 'met' | 'not_met'; lateMs: number }[] }
  | { kind: 'begin'; nodes: readonly CheckedNode[] }
  /** An action is running; `until` is the end of a parallel wait. */
  | { kind: 'busy'; until: number | null }
  /** Nothing to do until this time. */
  | { kind: 'wait'; until: number }
  | { kind: 'end'; status: Extract<RunStatus, 'completed' | 'failed'>; reason: RunReason | null };

/** Decides the next step of a run from its stored steps. Pure. */
export function decideRun(facts: RunFacts): RunDecision {
  const { steps, nowMs, abandoned } = facts;
  const running = steps.filter(({ status }) => status === 'running');
  if (abandoned && running.length > 0) return { kind: 'interrupt', nodeIds: running.map(({ nodeId }) => nodeId) };

  const waits = steps.flatMap(({ nodeId, status, dueAt, isMet }) =>
    status === 'waiting' && dueAt !== null ? [{ nodeId, dueAt, lateMs: nowMs - dueAt, isMet }] : [],
  );
  const missed = waits.filter(({ lateMs }) => lateMs > maxDelayLateMs);
  if (missed.length > 0) return { kind: 'miss', nodeIds: missed.map(({ nodeId }) => nodeId) };
  const over = waits.filter(({ lateMs, isMet }) => lateMs >= 0 || isMet === true);
  if (over.length > 0) {
    return {
      kind: 'end_waits',
      waits: over.map(({ nodeId, lateMs, isMet }) => ({ nodeId, status: endOf(isMet), lateMs: Math.max(0, lateMs) })),
    };
  }

  const nodes = nextNodes(facts);
  if (nodes.length > 0) return { kind: 'begin', nodes };
  const until = waits.length === 0 ? null : Math.min(...waits.map(({ dueAt }) => dueAt));
  if (running.length > 0) return { kind: 'busy', until };
  if (until !== null) return { kind: 'wait', until };
  if (steps.some(({ status }) => status === 'failed' || status === 'expired')) {
    return { kind: 'end', status: 'failed', reason: 'action_failed' };
  }
  const acted = steps.some(({ status }) => status !== 'met' && status !== 'not_met' && status !== 'ignored');
  return { kind: 'end', status: 'completed', reason: acted ? null : 'conditions_not_met' };
}

const endOf = (isMet: boolean | undefined): 'done' | 'met' | 'not_met' =>
  isMet === undefined ? 'done' : isMet ? 'met' : 'not_met';

/** Nodes that a path reached and that were not started, in the order of the flow. */
export function nextNodes({ flow, triggers, steps }: Pick<RunFacts, 'flow' | 'triggers' | 'steps'>): CheckedNode[] {
  const begun = new Map(steps.map(({ nodeId, status }) => [nodeId, status]));
  const reached = new Set<string>();
  for (const { source, target, sourceHandle = 'true' } of flow.edges) {
    if (triggers.includes(source)) reached.add(target);
    const status = begun.get(source);
    if (status !== undefined && letsPass(status, sourceHandle)) reached.add(target);
  }
  return flow.nodes.filter(({ id, type }) => type !== 'trigger' && reached.has(id) && !begun.has(id));
}

/** Whether a finished node opens an edge: a condition chooses; an action opens all, also when it failed. */
function letsPass(status: RunStep['status'], handle: 'true' | 'false'): boolean {
  switch (status) {
    case 'met':
    case 'ignored':
      return handle === 'true';
    case 'not_met':
      return handle === 'false';
    case 'done':
    case 'failed':
    case 'expired':
      return true;
    case 'running':
    case 'waiting':
    case 'unknown':
    case 'cancelled':
    case 'missed':
      return false;
  }
}
