import type { Clock } from '@station/kit/clock';
import type { BackendLogger } from '@station/kit/logger';
import { createRateLimitedCounter } from '@station/kit/rate-limited-counter';
import type { RadioState } from '@station/protocol/ble-frames';

/** Logs what the helper says, however often it does. */
export type HelperLog = {
  /** @param text never with a secret. */
  badLine(reason: string, text?: string): void;
  note(message: string): void;
  radioState(state: RadioState): void;
};

const longestText = 200;

export function createHelperLog({ clock, logger }: { clock: Clock; logger: BackendLogger }): HelperLog {
  const badLines = createRateLimitedCounter<string, string>({
    clock,
    report: ({ key, total, detail }) =>
      logger.event('ble_helper_line_ignored', { reason: key, text: detail, count: total }),
  });
  const notes = createRateLimitedCounter<'note', string>({
    clock,
    everyMs: 10_000,
    report: ({ detail, total }) => logger.event('ble_helper_note', { message: detail, count: total }),
  });
  const radioStates = createRateLimitedCounter<RadioState>({
    clock,
    everyMs: 10_000,
    report: ({ key }) => logger.event('ble_radio', { state: key }),
  });
  return {
    badLine: (reason, text = '') => badLines.count(reason, text.slice(0, longestText)),
    note: (message) => notes.count('note', message.slice(0, longestText)),
    radioState: (state) => radioStates.count(state, undefined),
  };
}
