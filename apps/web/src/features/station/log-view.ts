import type { LogLine } from '@station/protocol/agent-machine';

export type LogLevel = 'all' | 'warn' | 'error';
export type LogFilter = { service: string | null; level: LogLevel; text: string };

/** So many lines stay in the page, the oldest go first; a line has 8 KiB at most. */
export const mostLines = 2000;

/** A line with what it is filtered by. `id` counts up. */
export type KeptLine = LogLine & { id: number; level: 'info' | 'warn' | 'error' };

/** The lines after new ones; a line that came again, after a reconnection, is kept once. */
export function keepLines(kept: readonly KeptLine[], lines: readonly LogLine[]): readonly KeptLine[] {
  const keyOf = ({ service, time, text }: LogLine): string => `${service} ${time} ${text}`;
  const recent = new Set(kept.map(keyOf));
  let id = kept.at(-1)?.id ?? 0;
  const fresh = lines
    .filter((line) => !recent.has(keyOf(line)))
    .map((line) => ({ ...line, level: levelOf(line.text), id: (id += 1) }));
  return fresh.length === 0 ? kept : [...kept, ...fresh].slice(-mostLines);
}

/** Programs of the station write JSON with a level. Of others a word tells it. */
export function levelOf(text: string): KeptLine['level'] {
  const written = /"level":"(\w+)"/.exec(text)?.[1];
  if (written !== undefined) return written === 'error' || written === 'warn' ? written : 'info';
  if (/\b(error|fatal|panic|crit|alert|emerg)\b/i.test(text)) return 'error';
  return /\bwarn(ing)?\b/i.test(text) ? 'warn' : 'info';
}

export function matching(lines: readonly KeptLine[], { service, level, text }: LogFilter): KeptLine[] {
  const wanted = text.trim().toLowerCase();
  return lines.filter(
    (line) =>
      (service === null || line.service === service) &&
      (level === 'all' || line.level === 'error' || line.level === level) &&
      (wanted === '' || line.text.toLowerCase().includes(wanted)),
  );
}

/** A line of JSON begins with its event; time and level are shown otherwise. */
export function readable(text: string): string {
  try {
    const { time: _time, level: _level, event, ...fields } = JSON.parse(text) as Record<string, unknown>;
    if (typeof event !== 'string') return text;
    return Object.keys(fields).length === 0 ? event : `${event} ${JSON.stringify(fields)}`;
  } catch {
    return text;
  }
}

export const asText = (lines: readonly LogLine[]): string =>
  lines.map(({ time, service, text }) => `${time} ${service} ${text}\n`).join('');

/** Where a stream goes on after it has ended. */
export const sinceOf = (lines: readonly LogLine[]): string | null => {
  const last = lines.at(-1);
  const ms = last ? Date.parse(last.time) : Number.NaN;
  return Number.isFinite(ms) ? String(ms) : null;
};

/** Reads server-sent events with one line each; anything else is left out. */
export function createLineReader(): (text: string) => LogLine[] {
  let rest = '';
  return (text) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    return parts.flatMap((part) => (part.startsWith('data: ') ? (lineIn(part.slice(6)) ?? []) : []));
  };
}

function lineIn(data: string): LogLine | null {
  try {
    return JSON.parse(data) as LogLine;
  } catch {
    return null;
  }
}
