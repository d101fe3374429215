import type { HistoryEntry } from '@station/protocol/agent-api';
import type { Tone } from '../../ui/tone.tsx';

/** What an operation came to, from the point of view of whoever lives with the station. */
export type Outcome =
  | 'updated'
  /** The first release there was. */
  | 'installed'
  | 'went_back'
  /** The new release failed; the one before runs again. */
  | 'reverted'
  /** The wanted release was never started; nothing changed. */
  | 'not_installed'
  /** Going back by hand failed; the station stayed where it was. */
  | 'stayed'
  /** Neither release could be shown healthy. */
  | 'both_failed'
  | 'start_failed';

export function outcomeOf(entry: HistoryEntry): Outcome {
  if (entry.kind === 'bootstrap') return 'start_failed';
  const wasTouched = entry.downtimeMs !== null;
  if (entry.result === 'failed' && wasTouched) return 'both_failed';
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
  start_failed: 'fault',
};

export const newestFirst = (history: readonly HistoryEntry[]): HistoryEntry[] =>
  history.toSorted((a, b) => Date.parse(b.endedAt) - Date.parse(a.endedAt));

/** A browser that never saw this station is not told old stories. */
const newsForMs = 7 * 24 * 3_600_000;

/** The latest result, while nobody in this browser has said that it was read. */
export function unreadResult(
  history: readonly HistoryEntry[],
  readId: string | null,
  now: number,
): HistoryEntry | null {
  const latest = newestFirst(history)[0];
  if (!latest || latest.id === readId) return null;
  return now - Date.parse(latest.endedAt) < newsForMs ? latest : null;
}
