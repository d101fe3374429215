import { backendEvents } from '@station/protocol/backend-events';
import { systemClock } from '@station/kit/clock';
import { createLogger, type BackendLogger } from '@station/kit/logger';

export type LoggedEvent = { time: string; level: string; event: string } & Record<string, unknown>;

/** The real logger; its lines are recorded instead of printed. */
export function recordedLog(
  secrets: readonly string[] = [],
): BackendLogger & { lines: string[]; events(name: string): LoggedEvent[] } {
  const lines: string[] = [];
  const logger = createLogger({
    catalogue: backendEvents,
    clock: systemClock,
    level: 'debug',
    secrets,
    write: (line) => void lines.push(line),
  });
  return {
    ...logger,
    lines,
    events: (name) => lines.map((line) => JSON.parse(line) as LoggedEvent).filter(({ event }) => event === name),
  };
}
