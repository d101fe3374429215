import type { Clock } from '@station/kit/clock';
import { describeError } from '@station/kit/station-error';
import type { BackendLogger } from '@station/kit/logger';
import type { OutboxStore } from './outbox-store.ts';

const everyMs = 10_000;
/** Between two small steps of giving space back: queries of people come in between. */
const stepMs = 50;

/** Keeps the outbox within its limit, and gives the disk back what it does not need any more. */
export function startOutboxKeeper(parts: {
  outbox: Pick<OutboxStore, 'trim' | 'giveBack'>;
  maxBytes: number;
  isLeading(): boolean;
  onTick(): void;
  clock: Clock;
  logger: BackendLogger;
}): AsyncDisposable {
  const { outbox, clock, logger } = parts;
  const stopping = new AbortController();
  const { signal } = stopping;
  const sleep = (ms: number): Promise<void> => clock.sleep(ms, signal).catch(() => undefined);
  const look = async (): Promise<void> => {
    const dropped = await outbox.trim(parts.maxBytes);
    if (dropped > 0) logger.event('cloud_outbox_full', { dropped });
    while (!signal.aborted && (await outbox.giveBack())) await sleep(stepMs);
  };
  const run = async (): Promise<void> => {
    for (;;) {
      await sleep(everyMs);
      if (signal.aborted) return;
      if (!parts.isLeading()) continue;
      await look().catch((error: unknown) => {
        logger.event('unexpected_error', { where: 'keeping the outbox of the cloud', message: describeError(error) });
      });
      parts.onTick();
    }
  };
  const running = run();
  return {
    [Symbol.asyncDispose]: async () => {
      stopping.abort();
      await running;
    },
  };
}
