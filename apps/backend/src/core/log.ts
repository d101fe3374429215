import { pino } from 'pino';
import { backendEvents, type BackendEventFields, type BackendEventName } from '@station/protocol/backend-events';
import type { LogLevel } from '@station/kit/report';
import { isoTime, type Clock } from '@station/kit/clock';

export type Log = {
  /** Writes one event line. Never throws. */
  event<N extends BackendEventName>(name: N, fields: BackendEventFields<N>): void;
  /** From now on this value is blacked out wherever it occurs. */
  keepSecret(value: string): void;
};

/**
 * The backend's log: one JSON object a line, `time`, `level`, `event` first. Known secrets are taken out by value, so that
 * they stay out whichever field or error text they come in.
 */
export function createLog(options: {
  clock: Clock;
  level: LogLevel;
  secrets: readonly string[];
  write: (line: string) => void;
}): Log {
  // A very short secret would black out ordinary words.
  const secrets = new Set(options.secrets.filter((secret) => secret.length >= 4));
  const redact = (line: string): string => {
    for (const secret of secrets) {
      // Inside a line a value stands as JSON writes it.
      const written = JSON.stringify(secret).slice(1, -1);
      line = line.replaceAll(written, '[redacted]');
    }
    return line;
  };
  const logger = pino(
    {
      level: options.level,
      base: null,
      timestamp: () => `,"time":"${isoTime(options.clock.now())}"`,
      formatters: { level: (label) => ({ level: label }) },
    },
    { write: (line) => options.write(redact(line)) },
  );
  return {
    event: (name, fields) => logger[backendEvents[name].level]({ event: name, ...fields }),
    keepSecret: (value) => void secrets.add(value),
  };
}
