import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { createBackoff } from '@station/kit/retry';
import { describeError } from '@station/kit/station-error';

export type Opened = { address: string; close: () => Promise<void> };

export type Listener = AsyncDisposable & {
  /** Null while it does not listen. */
  address(): string | null;
};

/**
 * Opens a listener and tries again with growing delays while that does not work.
 * Resolves after the first attempt, whatever came of it.
 */
export async function keepListening(parts: {
  /** What is to be listened on, for the log. */
  address: string;
  open: () => Promise<Opened>;
  logger: AgentLogger;
  clock: Clock;
  random: () => number;
  signal: AbortSignal;
}): Promise<Listener> {
  const { address, open, logger, clock, signal } = parts;
  const backoff = createBackoff({ initialMs: 1000, maxMs: 60_000, jitter: 0.2, random: parts.random });
  let opened: Opened | null = null;

  /** Null when it listens, else the delay before the next attempt. */
  const attempt = async (): Promise<number | null> => {
    try {
      opened = await open();
      return null;
    } catch (error) {
      const retryInMs = backoff.nextMs();
      logger.event('api_unavailable', { address, reason: describeError(error), retryInMs });
      return retryInMs;
    }
  };
  const retry = async (firstDelayMs: number): Promise<void> => {
    let delayMs: number | null = firstDelayMs;
    while (delayMs !== null) {
      await clock.sleep(delayMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      delayMs = await attempt();
    }
    if (opened) logger.event('api_available', { address: opened.address });
  };

  const firstDelayMs = await attempt();
  const retrying = firstDelayMs === null ? Promise.resolve() : retry(firstDelayMs);
  return {
    address: () => opened?.address ?? null,
    [Symbol.asyncDispose]: async () => {
      await retrying;
      await opened?.close();
    },
  };
}
