import type { CheckedFlow, CheckedNode } from '@station/protocol/automation-flow';
import type { RunStep, StepSeen, TestStep, TestTrace } from '@station/protocol/automations';
import { nextNodes, type StepFact } from './automation-decide.ts';
import { type ConditionFacts, deviceOf, instantOf, judge } from './flow-conditions.ts';

export type DryRunParts = {
  flow: CheckedFlow;
  /** It goes on where a condition is not met. */
  ignoresConditions: boolean;
  factsOf: (deviceId: string | null) => Promise<ConditionFacts>;
  /** The devices that a command or a scene is for, and whether they can be reached. */
  targetsOf: (node: CheckedNode) => readonly { deviceId: string; isOnline: boolean }[] | null;
};

/** What a flow would do now, from all of its triggers. Nothing is done, waits or is stored. */
export async function dryRun(parts: DryRunParts): Promise<TestTrace> {
  const { flow } = parts;
  const triggers = flow.nodes.flatMap(({ id, type }) => (type === 'trigger' ? [id] : []));
  const steps: TestStep[] = [];
  const facts: StepFact[] = [];
  for (;;) {
    const nodes = nextNodes({ flow, triggers, steps: facts });
    if (nodes.length === 0) return { steps };
    for (const node of nodes) {
      const step = await testStep(node, parts);
      steps.push(step);
      facts.push({ nodeId: node.id, status: statusOf[step.outcome], dueAt: null });
    }
  }
}

/** As which the rest of the trace continues. */
const statusOf: Record<TestStep['outcome'], RunStep['status']> = {
  met: 'met',
  not_met: 'not_met',
  would_ignore: 'ignored',
  would_wait: 'met',
  would_do: 'done',
  would_fail: 'failed',
};

async function testStep(node: CheckedNode, { ignoresConditions, factsOf, targetsOf }: DryRunParts): Promise<TestStep> {
  const { id: nodeId, data } = node;
  const step = (outcome: TestStep['outcome'], seen: StepSeen | null): TestStep => ({
    nodeId,
    kind: data.kind,
    outcome,
    seen,
  });
  if (node.type === 'condition') {
    const condition = instantOf(node.data);
    const { met, seen } = judge(condition, await factsOf(deviceOf(condition)));
    if (met) return step('met', seen);
    if (ignoresConditions) return step('would_ignore', seen);
    return step(node.data.kind === 'wait_until' ? 'would_wait' : 'not_met', seen);
  }
  const targets = targetsOf(node);
  if (targets === null) return step('would_do', null);
  const seen = {
    devices: targets.slice(0, shownDevices).map(({ deviceId, isOnline }) => {
      return { deviceId, status: isOnline ? ('done' as const) : ('offline' as const) };
    }),
  };
  return step(targets.some(({ isOnline }) => isOnline) ? 'would_do' : 'would_fail', seen);
}

/** Devices of a zone or scene that the record of a step names. */
export const shownDevices = 50;
