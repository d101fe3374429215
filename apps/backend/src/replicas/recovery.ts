import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';

export type Recovery = {
  /** Reads again what may have changed unheard; called after each gap, before anything newer is delivered. */
  onGap(reload: () => Promise<void>): Disposable;
  /** Something may be missed from now on. */
  gapBegins(): void;
  /** Everything is heard again: catch up, unless nothing listens yet. */
  gapEnds(): void;
  /** From now on there is something to catch up with; whatever was missed until now is. */
  begin(also: readonly (() => Promise<void>)[]): void;
};

const retryMs = 1_000;

/**
 * After a gap nothing is delivered before everything was read again.
 * @param hold delivers nothing from now on. @param release delivers what was held.
 * @param onCaughtUp clients begin anew then: what was in the gap cannot be told one by one.
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
  let isReady = false;
  let gaps = 0;

  const recover = async (): Promise<void> => {
    const which = gaps;
    for (;;) {
      // Cut off again: the next one begins from the start.
      if (which !== gaps || !options.isConnected()) return;
      try {
        for (const reload of reloads) await reload();
        break;
      } catch (error) {
        logger.event('unexpected_error', { where: 'reading again after a gap', message: describeError(error) });
        await clock.sleep(retryMs);
      }
    }
    if (which !== gaps) return;
    options.release();
    options.onCaughtUp();
  };
  return {
    onGap: (reload) => {
      reloads.add(reload);
      return { [Symbol.dispose]: () => void reloads.delete(reload) };
    },
    gapBegins: () => {
      gaps += 1;
      options.hold();
    },
    gapEnds: () => {
      if (isReady) void recover();
    },
    begin: (also) => {
      for (const reload of also) reloads.add(reload);
      isReady = true;
      if (gaps === 0) options.release();
      else void recover();
    },
  };
}
