import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
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
  let isReady = false;
  let gaps = 0;

  const recover = async (): Promise<void> => {
    const which = gaps;
    for (;;) {
      // Disconnected again: the next recovery starts over.
      if (which !== gaps || !options.isConnected()) return;
      try {
        for (const reload of reloads) await reload();
        break;
      } catch (error) {
        logger.event('unexpected_error', { where: 'reloading after a gap', message: describeError(error) });
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
