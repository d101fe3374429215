import type { Clock } from '@station/kit/clock';
import type { PullAnswer, PullProgress } from './ports.ts';

/** A pull that makes no progress for so long is broken off: its connection is dead, and nobody says so. */
const stalledAfterMs = 5 * 60_000;
const lookEveryMs = 30_000;

/**
 * Pulls for as long as it takes, but not in silence: on a slow line a large image takes hours, and one that is broken off is fetched
 * from its beginning again.
 * @param onProgress at each sign of progress.
 */
export async function pullUnlessSilent(
  pull: (onProgress: (progress: PullProgress) => void, signal: AbortSignal) => Promise<PullAnswer>,
  { clock, signal, onProgress }: { clock: Clock; signal: AbortSignal; onProgress: (progress: PullProgress) => void },
): Promise<PullAnswer> {
  const stalled = new AbortController();
  const ended = new AbortController();
  let progressMs = clock.monotonic();
  const watchProgress = async (): Promise<void> => {
    while (clock.monotonic() - progressMs < stalledAfterMs) await clock.sleep(lookEveryMs, ended.signal);
    stalled.abort();
  };
  const watching = watchProgress().catch(() => undefined);
  try {
    return await pull(
      (progress) => {
        progressMs = clock.monotonic();
        onProgress(progress);
      },
      AbortSignal.any([signal, stalled.signal]),
    );
  } catch (error) {
    if (!stalled.signal.aborted || signal.aborted) throw error;
    return { kind: 'failed', code: 'registry_unavailable', reason: 'the registry fell silent', transient: true };
  } finally {
    ended.abort();
    await watching;
  }
}
