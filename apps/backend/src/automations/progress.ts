import type { Clock } from '@station/kit/clock';
import type { CheckedFlow, CheckedNode } from '@station/protocol/automation-flow';
import type { Effect } from './actions.ts';
import { deviceOf, judge, type ConditionFacts } from './conditions.ts';
import { decideRun } from './automation-decide.ts';
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
  /** Steps of the run; modified here. */
  steps: Map<string, StepRow>;
  time: RunTime;
  abandoned: boolean;
  leaseUntil: number;
  factsOf: (deviceId: string | null) => Promise<ConditionFacts>;
  newId: () => string;
  clock: Clock;
};

/**
 * Advances a run as far as possible without external actions: evaluates conditions, starts and ends delays, writes notifications. It stops
 * when an external action is due, when a delay must pass, or when the run ends.
 */
export async function progressRun(parts: ProgressParts): Promise<Progress> {
  const { flow, triggers, steps, abandoned, clock } = parts;
  const change = {
    begun: new Map<string, StepRow>(),
    ended: new Map<string, RunChange['ended'][number]>(),
    notifications: [] as NotificationRow[],
  };
  const effects: BegunEffect[] = [];
  const finish = (run: RunChange['run'], until: number | null): Progress => ({
    change: {
      run,
      begun: [...change.begun.values()],
      ended: [...change.ended.values()],
      notifications: change.notifications,
    },
    effects,
    until,
  });
  const end = (nodeIds: readonly string[], status: StepRow['status'], more: Partial<StepRow> = {}): void => {
    for (const id of nodeIds) {
      const step = steps.get(id);
      if (step === undefined) continue;
      const ended = { ...step, status, ended_at: clock.now(), ...more };
      steps.set(id, ended);
      if (change.begun.has(id)) change.begun.set(id, ended);
      else
        change.ended.set(id, { node_id: id, status, ended_at: ended.ended_at, detail: ended.detail, ...lateOf(ended) });
    }
  };
  const cancelDelays = (): void =>
    end(
      [...steps.values()].filter(({ status }) => status === 'waiting').map(({ node_id }) => node_id),
      'cancelled',
    );
  const over = (run: RunChange['run']): Progress =>
    finish({ ...run, owner: null, lease_until: null, wake_at: null, ended_at: clock.now() }, null);

  for (;;) {
    const nowMs = parts.time.wallMs + clock.monotonic() - parts.time.steadyMs;
    const facts = [...steps.values()].map(({ node_id, status, due_at }) => ({
      nodeId: node_id,
      status,
      dueAt: due_at,
    }));
    const decision = decideRun({ flow, triggers, steps: facts, nowMs, abandoned });
    switch (decision.kind) {
      case 'interrupt':
        end(decision.nodeIds, 'unknown', {
          detail: 'The station went down meanwhile: whether it was done is not known.',
        });
        cancelDelays();
        return over({ status: 'interrupted', reason: 'outcome_unknown' });
      case 'miss':
        end(decision.nodeIds, 'missed');
        cancelDelays();
        return over({ status: 'missed', reason: 'delay_overdue' });
      case 'end_delays':
        for (const { nodeId, lateMs } of decision.delays)
          end([nodeId], 'done', lateMs >= tellLateMs ? { late_ms: lateMs } : {});
        break;
      case 'begin':
        for (const node of decision.nodes) {
          const begun = await begin(node, parts, nowMs);
          steps.set(node.id, begun.step);
          change.begun.set(node.id, begun.step);
          if (begun.notification !== undefined) change.notifications.push(begun.notification);
          if (begun.effect !== undefined) effects.push({ node, effect: begun.effect });
        }
        break;
      case 'busy':
        return finish({ lease_until: parts.leaseUntil }, decision.until);
      case 'wait':
        return finish({ status: 'waiting', owner: null, lease_until: null, wake_at: decision.until }, decision.until);
      case 'end':
        return over({ status: decision.status, reason: decision.reason });
    }
  }
}

/** A delay that is less late than this counts as on time. */
const tellLateMs = 2_000;
const lateOf = ({ late_ms }: StepRow): { late_ms?: number } =>
  late_ms === null ? {} : { late_ms: Math.round(late_ms) };

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
  };
  if (node.type === 'trigger') throw new Error('A trigger cannot have an incoming edge');
  if (node.type === 'condition') {
    const { met, detail } = judge(node.data, await parts.factsOf(deviceOf(node.data)));
    return { step: { ...base, status: met ? 'met' : 'not_met', ended_at: now, detail } };
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
    case 'webhook':
      return { step: { ...base, status: 'running' }, effect: data };
  }
}
