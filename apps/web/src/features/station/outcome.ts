import type { HistoryEntry, Operation, OperationPhase } from '@station/protocol/agent-api';
import type { Tone } from '../../ui/tone.tsx';

/** The result of an operation, as the household sees it. */
export type Outcome =
  | 'updated'
  /** The first release was installed. */
  | 'installed'
  | 'went_back'
  /** The new release failed; the previous release runs again. */
  | 'reverted'
  /** The wanted release was never started; nothing changed. */
  | 'not_installed'
  /** A manual rollback failed; the station kept its release. */
  | 'stayed'
  /** Neither release became healthy. */
  | 'both_failed'
  /** A manual rollback failed, and the release before it did not become healthy again. */
  | 'neither_way'
  | 'start_failed';

export function outcomeOf(entry: HistoryEntry): Outcome {
  if (entry.kind === 'bootstrap') return 'start_failed';
  if (entry.result === 'failed' && entry.isSwitched === true)
    return entry.kind === 'rollback' ? 'neither_way' : 'both_failed';
  if (entry.kind === 'rollback')
    return entry.result === 'rolled_back' && entry.reason === null ? 'went_back' : 'stayed';
  if (entry.result === 'updated') return entry.from === null ? 'installed' : 'updated';
  return entry.result === 'rolled_back' ? 'reverted' : 'not_installed';
}

export const toneOfOutcome: Record<Outcome, Tone> = {
  updated: 'ok',
  installed: 'ok',
  went_back: 'ok',
  reverted: 'attention',
  not_installed: 'attention',
  stayed: 'attention',
  both_failed: 'fault',
  neither_way: 'fault',
  start_failed: 'fault',
};

/** When the agent itself goes back, the household is told of the release that it left, as of one that failed at once. */
const asTold = (entry: HistoryEntry): HistoryEntry => {
  const { because, from, to, reason } = entry;
  if (because === undefined || reason !== null || entry.result !== 'rolled_back') return entry;
  return { ...entry, ...because, kind: 'update', from: to, to: from };
};

export const newestFirst = (history: readonly HistoryEntry[]): HistoryEntry[] =>
  history.map(asTold).toSorted((a, b) => Date.parse(b.endedAt) - Date.parse(a.endedAt));

/** A browser that is new to this station shows no old results. */
const newsForMs = 7 * 24 * 3_600_000;

/** The latest result, until it is dismissed in this browser. The first installation is no news: the page itself came with it. */
export function unreadResult(
  history: readonly HistoryEntry[],
  readId: string | null,
  now: number,
): HistoryEntry | null {
  const latest = newestFirst(history)[0];
  if (!latest || latest.id === readId || outcomeOf(latest) === 'installed') return null;
  return now - Date.parse(latest.endedAt) < newsForMs ? latest : null;
}

type StepId = 'prepare' | 'fetch' | 'switch' | 'verify' | 'revert' | 'verifyRevert';
export type Step = { id: StepId; state: 'done' | 'now' | 'next' | 'failed' };

const forward: readonly { id: StepId; phase: OperationPhase }[] = [
  { id: 'prepare', phase: 'preparing' },
  { id: 'fetch', phase: 'pulling' },
  { id: 'switch', phase: 'switching' },
  { id: 'verify', phase: 'verifying' },
];

/** The steps of an operation: finished, current, and still to come. */
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
