import type { Clock } from '@station/kit/clock';
import type { CheckedFlow } from '@station/protocol/automation-flow';
import type { RunReason, RunTrigger } from '@station/protocol/automations';
import type { EffectResult } from './actions.ts';
import type { RunTime } from './progress.ts';
import type { Published } from './registry.ts';
import type { RunChange, RunRow, StepRow } from './run-store.ts';

/** What starts a run. `cause` is unique for the automation: if two processes see the same cause, only one starts a run. */
export type Start = { automation: Published; trigger: RunTrigger; cause: string };

/** A run uses the monotonic clock, so that setting the wall clock does not change a delay. */
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

/** A run that does not start. */
export const skippedRow = (start: Start, id: string, now: number, reason: RunReason): RunRow => ({
  ...newRow(start, id, now),
  status: 'skipped',
  reason,
  ended_at: now,
  flow: '',
});

/** The triggers from which a run starts. */
export function triggersOf({ trigger }: RunRow, { nodes }: CheckedFlow): string[] {
  const { nodeId } = JSON.parse(trigger) as RunTrigger;
  return nodeId === null ? nodes.flatMap(({ id, type }) => (type === 'trigger' ? [id] : [])) : [nodeId];
}

export const ignoresConditions = ({ trigger }: RunRow): boolean =>
  (JSON.parse(trigger) as RunTrigger).ignoresConditions === true;

/** Webhooks do not receive who started the run. */
export function publicTrigger(text: string): Omit<RunTrigger, 'userId'> {
  const { kind, nodeId, deviceId, data } = JSON.parse(text) as RunTrigger;
  return { kind, nodeId, deviceId, data };
}

/** Stores the result of an action in the steps of its run. */
export function endStep(
  steps: Map<string, StepRow>,
  nodeId: string,
  { status, detail, seen }: EffectResult,
  now: number,
): RunChange['ended'] {
  const step = steps.get(nodeId);
  if (step === undefined) return [];
  const end = { status, detail, seen: seen === undefined ? null : JSON.stringify(seen), ended_at: now };
  steps.set(nodeId, { ...step, ...end });
  return [{ node_id: nodeId, ...end }];
}
