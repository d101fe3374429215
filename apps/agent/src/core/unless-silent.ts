import type { Clock } from '@station/kit/clock';

/** Work without progress for so long is cancelled: its connection is dead without an error. */
const stalledAfterMs = 5 * 60_000;
const lookEveryMs = 30_000;

/**
 * Lets work run as long as it makes progress: on a slow connection a large image takes hours, and a cancelled pull starts
 * from the beginning again.
 * @param onProgress at each sign of progress.
 * @returns what the work returns, or `silent` when it was cancelled.
 */
export async function unlessSilent<Progress, Answer>(
  work: (onProgress: (progress: Progress) => void, signal: AbortSignal) => Promise<Answer>,
  { clock, signal, onProgress }: { clock: Clock; signal: AbortSignal; onProgress: (progress: Progress) => void },
): Promise<Answer | 'silent'> {
  const stalled = new AbortController();
  const ended = new AbortController();
  let progressMs = clock.monotonic();
  const watchProgress = async (): Promise<void> => {
    while (clock.monotonic() - progressMs < stalledAfterMs) await clock.sleep(lookEveryMs, ended.signal);
    stalled.abort();
  };
  const watching = watchProgress().catch(() => undefined);
  try {
    return await work(
      (progress) => {
        progressMs = clock.monotonic();
        onProgress(progress);
      },
      AbortSignal.any([signal, stalled.signal]),
    );
  } catch (error) {
    if (!stalled.signal.aborted || signal.aborted) throw error;
    return 'silent';
  } finally {
    ended.abort();
    await watching;
  }
}
