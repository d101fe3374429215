import type { backendEvents } from '@station/protocol/backend-events';
import type { events } from '@station/protocol/events';
import { ownValue } from '@station/protocol/own-value';
import { pino } from 'pino';
import type { Static, TObject } from 'typebox';
import { isoTime, type Clock } from './clock.ts';
import { plainJson } from '@station/protocol/plain-text';
import { describeError } from './station-error.ts';

/** The log of one program. `Catalogue` names its events, with the level and the fields of each. */
export type Logger<Catalogue extends EventCatalogue> = {
  /** Writes an event and passes it to the listeners. Never throws. */
  event<Name extends keyof Catalogue & string>(name: Name, fields: Static<Catalogue[Name]['fields']>): void;
  /** Writes `unexpected_error` with the error and its causes. @param where the work that failed, for people. */
  failed(where: string, error: unknown): void;
  /** Calls `listener` with each redacted event of every level until disposed. */
  subscribe(listener: (event: LoggedEvent<Catalogue>) => void): Disposable;
  /** Redacts this value from now on wherever it occurs. */
  keepSecret(value: string): void;
};
export type AgentLogger = Logger<typeof events>;
export type BackendLogger = Logger<typeof backendEvents>;

export type EventCatalogue = Readonly<Record<string, { readonly level: LogLevel; readonly fields: TObject }>> & {
  readonly unexpected_error: object;
};

/** One event as it is written: `time` is ISO 8601 in UTC. */
type LoggedEvent<Catalogue extends EventCatalogue> = {
  [Name in keyof Catalogue & string]: { time: string; level: LogLevel; event: Name } & Static<
    Catalogue[Name]['fields']
  >;
}[keyof Catalogue & string];

export const logLevels = ['debug', 'info', 'warn', 'error'] as const;
export type LogLevel = (typeof logLevels)[number];

/**
 * Logs events as one JSON object per line: `time`, `level`, `event`, then the event's fields (contracts, section 6).
 * Secrets are redacted by field name, and by value inside any text; so are user names and passwords of URLs.
 * @param options.write receives each line with its line break.
 * @param options.level events below it are not written, but passed to the listeners.
 * @param options.secrets values to redact; values under 4 characters are redacted by field name only.
 */
export function createLogger<Catalogue extends EventCatalogue>(options: {
  catalogue: Catalogue;
  clock: Clock;
  level: LogLevel;
  secrets: readonly string[];
  write: (line: string) => void;
}): Logger<Catalogue> {
  const secrets = createSecrets(options.secrets);
  const listeners = new Set<(event: LoggedEvent<Catalogue>) => void>();
  const output = openOutput(options);
  const lineOf = (name: keyof Catalogue & string, fields: object): Line => ({
    time: isoTime(options.clock.now()),
    level: ownValue<EventCatalogue[string]>(options.catalogue, name)?.level ?? 'error',
    event: name,
    ...(secrets.redact(fields) as object),
  });
  const unexpected = (where: string, error: unknown): Line =>
    lineOf('unexpected_error', { where, message: describeError(error) });
  const write = (line: Line): void => {
    output(line);
    for (const listener of listeners) {
      try {
        listener(line as unknown as LoggedEvent<Catalogue>);
      } catch (error) {
        // Not passed to the listeners: the failed one would be called again.
        output(unexpected('logger', error));
      }
    }
  };
  return {
    event: (name, fields) => write(lineOf(name, fields)),
    failed: (where, error) => write(unexpected(where, error)),
    subscribe: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    keepSecret: (value) => secrets.add(value),
  };
}

/** Redacts these values in any text, as the logger does. */
export function createRedactor(values: readonly string[]): (text: string) => string {
  const { redact } = createSecrets(values);
  return (text) => redact(text) as string;
}

type Line = { time: string; level: LogLevel; event: string };

/** Writes lines with Pino. Pino puts the level before the time, so the level is passed as the first field. */
function openOutput(options: { level: LogLevel; write: (line: string) => void }): (line: Line) => void {
  let time = '';
  const output = pino(
    {
      level: options.level,
      base: null,
      formatters: { level: () => ({}) },
      timestamp: () => `"time":"${time}"`,
    },
    { write: (line) => options.write(plainJson(line)) },
  );
  return (line) => {
    try {
      const { time: at, ...rest } = line;
      time = at;
      output[line.level](rest);
    } catch {
      // This failure cannot be logged, because the log itself failed.
    }
  };
}

const secretName = /token|password|passphrase|secret|authorization|psk|credential/i;
const redacted = '[redacted]';
/** User name and password of a URL (RFC 3986, section 3.2.1). */
const userInfo = /(?<=:\/\/)[^\s/?#"'@]+(?=@)/g;
/** Shorter values would redact ordinary words. */
const shortestSecret = 4;
const deepest = 16;

function createSecrets(values: readonly string[]) {
  let forms: string[] = [];
  const add = (value: string): void => {
    if (value.length < shortestSecret) return;
    // JSON inside a text contains the value in escaped form.
    const all = new Set([...forms, value, JSON.stringify(value).slice(1, -1)]);
    // Longest first: otherwise the rest of a secret that starts with another one stays readable.
    forms = [...all].sort((a, b) => b.length - a.length);
  };
  for (const value of values) add(value);
  const inText = (text: string): string => {
    const withoutUsers = text.includes('@') ? text.replaceAll(userInfo, redacted) : text;
    return forms.reduce((rest, form) => rest.replaceAll(form, redacted), withoutUsers);
  };
  const redact = (value: unknown, depth = 0): unknown => {
    if (typeof value === 'string') return inText(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth === deepest) return '[too deep]';
    if (Array.isArray(value)) return value.map((item) => redact(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [
        inText(key),
        secretName.test(key) ? redacted : redact(item, depth + 1),
      ]),
    );
  };
  return { add, redact };
}
