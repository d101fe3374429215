import type { Clock } from '@station/kit/clock';
import { constantBackoff, retry } from '@station/kit/retry';
import type { BackendLogger } from '@station/kit/logger';

export type Recovery = {
  /** Reloads what may have changed during a gap; called after each gap, before newer messages are delivered. */
  onGap(reload: () => Promise<void>): Disposable;
  /** Messages may be lost from now on. */
  gapBegins(): void;
  /** Messages arrive again: catches up, unless nothing listens yet. */
  gapEnds(): void;
  /** Starts catching up, also with messages lost until now. */
  begin(also: readonly (() => Promise<void>)[]): void;
};

const retryMs = 1_000;

/**
 * After a gap, nothing is delivered until everything was reloaded.
 * @param hold pauses delivery. @param release delivers the held messages.
 * @param onCaughtUp clients must reload then: the lost messages cannot be sent one by one.
 */
export function createRecovery(options: {
  hold: () => void;
  release: () => void;
  isConnected: () => boolean;
  onCaughtUp: () => void;
  clock: Clock;
  logger: BackendLogger;
}): Recovery {
  const { clock, logger } = options;
  const reloads = new Set<() => Promise<void>>();
  /** Ends the recovery under way when the next gap begins. */
  let recovering = new AbortController();
  let isReady = false;
  let hasGap = false;

  const recover = async (): Promise<void> => {
    if (!options.isConnected()) return;
    const { signal } = recovering;
    const reloadAll = async (): Promise<void> => {
      for (const reload of reloads) await reload();
    };
    const onFailure = ({ error }: { error: unknown }): void => logger.failed('reloading after a gap', error);
    const backoff = constantBackoff(retryMs);
    await retry(reloadAll, { clock, signal, backoff, onFailure }).catch(() => undefined);
    if (signal.aborted) return;
    options.release();
    options.onCaughtUp();
  };
  return {
    onGap: (reload) => {
      reloads.add(reload);
      return { [Symbol.dispose]: () => void reloads.delete(reload) };
    },
    gapBegins: () => {
      hasGap = true;
      recovering.abort();
      recovering = new AbortController();
      options.hold();
    },
    gapEnds: () => {
      if (isReady) void recover();
    },
    begin: (also) => {
      for (const reload of also) reloads.add(reload);
      isReady = true;
      if (hasGap) void recover();
      else options.release();
    },
  };
}
