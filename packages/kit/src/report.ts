import { events, type AgentEvent, type EventFields, type EventName } from '@station/protocol/events';
import { isoTime, type Clock } from './clock.ts';
import { describeError } from './station-error.ts';

export type Report = {
  /** Writes one event line and hands it to the listeners. Never throws. */
  event<N extends EventName>(name: N, fields: EventFields<N>): void;
  /** Calls `listener` with each event until disposed. */
  subscribe(listener: (event: AgentEvent) => void): Disposable;
};

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

const secretName = /token|password|passphrase|secret|authorization|psk|credential/i;
const redacted = '[redacted]';

/**
 * The agent's log: one JSON object a line (contracts, section 6). Secrets are taken out by field name, and by value wherever
 * one of `secrets` occurs inside a text.
 */
export function createReport(options: {
  clock: Clock;
  write: (line: string) => void;
  level: LogLevel;
  secrets: readonly string[];
}): Report {
  // A very short secret would black out ordinary words; by name it is still kept out. The longest first: one that another
  // begins with would leave the rest of it to be read.
  const secrets = options.secrets.filter((secret) => secret.length >= 4).sort((a, b) => b.length - a.length);
  const listeners = new Set<(event: AgentEvent) => void>();
  const minimum = logLevels.indexOf(options.level);
  const write = (line: AgentEvent): void => {
    try {
      options.write(`${JSON.stringify(line)}\n`);
    } catch {
      // Where a failure would be told is what failed.
    }
  };
  const lineOf = (name: EventName, fields: object): AgentEvent => {
    const clean = redact(fields, secrets) as Record<string, unknown>;
    const line = { time: isoTime(options.clock.now()), level: events[name].level, event: name, ...clean };
    return line as unknown as AgentEvent;
  };
  return {
    event: (name, fields) => {
      const line = lineOf(name, fields);
      if (logLevels.indexOf(line.level) >= minimum) write(line);
      for (const listener of listeners) {
        try {
          listener(line);
        } catch (error) {
          // Not to the listeners: this one would be among them.
          write(lineOf('unexpected_error', { where: 'report', message: describeError(error) }));
        }
      }
    },
    subscribe: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

function redact(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, redacted), value);
  if (Array.isArray(value)) return value.map((item) => redact(item, secrets));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, secretName.test(key) ? redacted : redact(item, secrets)]),
  );
}
