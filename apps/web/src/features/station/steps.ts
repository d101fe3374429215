import type { Operation, OperationPhase } from '@station/protocol/agent-api';

export type StepId = 'prepare' | 'fetch' | 'switch' | 'verify' | 'revert' | 'verifyRevert';
export type Step = { id: StepId; state: 'done' | 'now' | 'next' | 'failed' };

const forward: readonly { id: StepId; phase: OperationPhase }[] = [
  { id: 'prepare', phase: 'preparing' },
  { id: 'fetch', phase: 'pulling' },
  { id: 'switch', phase: 'switching' },
  { id: 'verify', phase: 'verifying' },
];

/** The steps of an operation with where it stands: what was really done, what is being done, what is still to come. */
export function stepsOf(operation: Operation): Step[] {
  const { phase } = operation;
  const fetches = operation.kind === 'update' || phase === 'pulling' || operation.progress.doneBytes > 0;
  const there = forward.filter((step) => step.id !== 'fetch' || fetches);
  if (phase === 'reverting' || phase === 'verifying_revert') {
    const tried = there.map(({ id }): Step => ({ id, state: id === 'verify' ? 'failed' : 'done' }));
    const back: Step[] =
      phase === 'reverting'
        ? [
            { id: 'revert', state: 'now' },
            { id: 'verifyRevert', state: 'next' },
          ]
        : [
            { id: 'revert', state: 'done' },
            { id: 'verifyRevert', state: 'now' },
          ];
    return [...tried, ...back];
  }
  const at = there.findIndex((step) => step.phase === phase);
  return there.map(({ id }, index) => ({ id, state: index < at ? 'done' : index === at ? 'now' : 'next' }));
}
