import type { CheckedFlow, CheckedNode } from '@station/protocol/automation-flow';
import { maxDelayLateMs, type RunReason, type RunStatus, type RunStep } from '@station/protocol/automations';

/** Stored step of a node that was started. */
export type StepFact = { nodeId: string; status: RunStep['status']; dueAt: number | null };

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
  /** These delays ended too long ago. */
  | { kind: 'miss'; nodeIds: readonly string[] }
  | { kind: 'end_delays'; delays: readonly { nodeId: string; lateMs: number }[] }
  | { kind: 'begin'; nodes: readonly CheckedNode[] }
  /** An action is running; `until` is the end of a parallel delay. */
  | { kind: 'busy'; until: number | null }
  /** Nothing to do until this time. */
  | { kind: 'wait'; until: number }
  | { kind: 'end'; status: Extract<RunStatus, 'completed' | 'failed'>; reason: RunReason | null };

/** Decides the next step of a run from its stored steps. Pure. */
export function decideRun(facts: RunFacts): RunDecision {
  const { steps, nowMs, abandoned } = facts;
  const running = steps.filter(({ status }) => status === 'running');
  if (abandoned && running.length > 0) return { kind: 'interrupt', nodeIds: running.map(({ nodeId }) => nodeId) };

  const delays = steps.flatMap(({ nodeId, status, dueAt }) =>
    status === 'waiting' && dueAt !== null ? [{ nodeId, dueAt, lateMs: nowMs - dueAt }] : [],
  );
  const missed = delays.filter(({ lateMs }) => lateMs > maxDelayLateMs);
  if (missed.length > 0) return { kind: 'miss', nodeIds: missed.map(({ nodeId }) => nodeId) };
  const over = delays.filter(({ lateMs }) => lateMs >= 0);
  if (over.length > 0) return { kind: 'end_delays', delays: over.map(({ nodeId, lateMs }) => ({ nodeId, lateMs })) };

  const nodes = nextNodes(facts);
  if (nodes.length > 0) return { kind: 'begin', nodes };
  const until = delays.length === 0 ? null : Math.min(...delays.map(({ dueAt }) => dueAt));
  if (running.length > 0) return { kind: 'busy', until };
  if (until !== null) return { kind: 'wait', until };
  if (steps.some(({ status }) => status === 'failed' || status === 'expired')) {
    return { kind: 'end', status: 'failed', reason: 'action_failed' };
  }
  const acted = steps.some(({ status }) => status !== 'met' && status !== 'not_met');
  return { kind: 'end', status: 'completed', reason: acted ? null : 'conditions_not_met' };
}

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
