import { systemClock } from '@station/kit/clock';
import { createLog, type Log } from '../core/log.ts';

export type LoggedEvent = { time: string; level: string; event: string } & Record<string, unknown>;

/** The real log, its lines kept instead of printed. */
export function recordedLog(
  secrets: readonly string[] = [],
): Log & { lines: string[]; events(name: string): LoggedEvent[] } {
  const lines: string[] = [];
  const log = createLog({ clock: systemClock, level: 'debug', secrets, write: (line) => void lines.push(line) });
  return {
    ...log,
    lines,
    events: (name) => lines.map((line) => JSON.parse(line) as LoggedEvent).filter(({ event }) => event === name),
  };
}
