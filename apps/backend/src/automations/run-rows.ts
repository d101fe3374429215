import type { Clock } from '@station/kit/clock';
import type { CheckedFlow } from '@station/protocol/automation-flow';
import type { RunReason, RunTrigger } from '@station/protocol/automations';
import type { EffectResult } from './actions.ts';
import type { RunTime } from './progress.ts';
import type { Published } from './registry.ts';
import type { RunChange, RunRow, StepRow } from './run-store.ts';

/** What starts a run. `cause` is unique for the automation: of two processes that see the same one, one starts a run. */
export type Start = { automation: Published; trigger: RunTrigger; cause: string };

/** The time of a run goes by the steady clock, so that setting the wall clock ends no delay early or late. */
export const timeOf = (clock: Clock): RunTime => ({ wallMs: clock.now(), steadyMs: clock.monotonic() });
export const nowOf = ({ wallMs, steadyMs }: RunTime, clock: Clock): number => wallMs + clock.monotonic() - steadyMs;

export const newRow = ({ automation, trigger, cause }: Start, id: string, now: number): RunRow => ({
  id,
  automation_id: automation.id,
  status: 'running',
  reason: null,
  cause,
  trigger: JSON.stringify(trigger),
  flow: JSON.stringify(automation.flow),
  owner: null,
  lease_until: null,
  wake_at: null,
  started_at: now,
  ended_at: null,
});

/** A run that does not begin. */
export const skippedRow = (start: Start, id: string, now: number, reason: RunReason): RunRow => ({
  ...newRow(start, id, now),
  status: 'skipped',
  reason,
  ended_at: now,
  flow: '',
});

/** The triggers that a run goes on from. */
export function triggersOf({ trigger }: RunRow, { nodes }: CheckedFlow): string[] {
  const { nodeId } = JSON.parse(trigger) as RunTrigger;
  return nodeId === null ? nodes.flatMap(({ id, type }) => (type === 'trigger' ? [id] : [])) : [nodeId];
}

/** Who pressed the button is nobody's business outside. */
export function publicTrigger(text: string): Omit<RunTrigger, 'userId'> {
  const { kind, nodeId, deviceId, data } = JSON.parse(text) as RunTrigger;
  return { kind, nodeId, deviceId, data };
}

/** Puts the result of an action into the steps of its run. */
export function endStep(
  steps: Map<string, StepRow>,
  nodeId: string,
  { status, detail }: EffectResult,
  now: number,
): RunChange['ended'] {
  const step = steps.get(nodeId);
  if (step === undefined) return [];
  steps.set(nodeId, { ...step, status, detail, ended_at: now });
  return [{ node_id: nodeId, status, detail, ended_at: now }];
}
