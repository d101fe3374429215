import type { Clock } from '@station/kit/clock';
import type { AgentLogger } from '@station/kit/logger';
import { describeError } from '@station/kit/station-error';
import type { Network, Radio } from './wifi-ports.ts';
import type { SsidHex } from '../core/ssid.ts';

/** Scans beside everything else, one at a time. */
export type Scanner = {
  isRunning(): boolean;
  /** Monotonic time at which the last one ended; null: there was none. */
  endedMs(): number | null;
  /** Resolves at the end of a scan: a new one, or the one under way. Never rejects. */
  scan(signal: AbortSignal): Promise<void>;
  /** Ends the one under way: the radio is needed. */
  cancel(): Promise<void>;
};

export function createScanner(parts: {
  radio: Radio;
  clock: Clock;
  logger: AgentLogger;
  /** Known networks that do not tell their names. */
  hidden: () => readonly SsidHex[];
  onEnd: (networks: readonly Network[]) => void;
}): Scanner {
  const { radio, clock, logger } = parts;
  let endedMs: number | null = null;
  let running: { ended: Promise<void>; stopping: AbortController } | null = null;

  const scan = async (signal: AbortSignal): Promise<void> => {
    try {
      const found = await radio.scan({ hidden: parts.hidden() }, signal);
      if (!signal.aborted) parts.onEnd(found);
    } catch (error) {
      if (!signal.aborted) logger.event('unexpected_error', { where: 'wifi scan', message: describeError(error) });
    } finally {
      running = null;
      // One that was ended, or failed, is not repeated at once.
      endedMs = clock.monotonic();
    }
  };

  return {
    isRunning: () => running !== null,
    endedMs: () => endedMs,
    scan: (signal) => {
      if (running) return running.ended;
      const stopping = new AbortController();
      // Set before the scan can end.
      const current = { ended: Promise.resolve(), stopping };
      running = current;
      current.ended = scan(AbortSignal.any([signal, stopping.signal]));
      return current.ended;
    },
    cancel: async () => {
      running?.stopping.abort(new Error('the radio is needed'));
      await running?.ended;
    },
  };
}
