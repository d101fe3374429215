import type { Clock } from '@station/kit/clock';
import { parseObject } from '@station/kit/json';
import type { AgentLogger } from '@station/kit/logger';
import { StationError } from '@station/kit/station-error';
import { agentLog, type LogLine } from '@station/protocol/agent-machine';
import type { OnLine, OpenLog, ServiceOperator } from '../core/operator-ports.ts';

export type LogParts = {
  operator: Pick<ServiceOperator, 'followLog'>;
  services: () => Promise<readonly string[]>;
  /** The last lines of the agent, oldest first. */
  agentLines: () => Promise<readonly string[]>;
  logger: Pick<AgentLogger, 'subscribe'>;
  clock: Clock;
  /** Removes the secrets of the agent from a text. */
  redact: (text: string) => string;
};

/** Of each log at the beginning. */
const firstLines = 200;
/** Until a service that has stopped is asked for again. */
const restartMs = 1000;

/**
 * The log of the agent and of services, live. A log is followed through restarts of its service. One that cannot be read says so in a
 * line. Nothing is kept here: a slow reader slows down the engine, and lines of the agent that it cannot take are dropped.
 */
export function createOpenLog(parts: LogParts): OpenLog {
  return async ({ service, since }) => {
    const names = await parts.services();
    if (service !== undefined && service !== agentLog && !names.includes(service))
      throw new StationError('not_found', 'The stack has no such service.');
    const wanted = service === undefined ? [agentLog, ...names] : [service];
    const sinceMs = since === undefined ? null : Number(since);
    return async (onLine, signal) => {
      const take: OnLine<LogLine> = (line) => onLine({ ...line, text: parts.redact(line.text) });
      const follow = (name: string): Promise<void> =>
        name === agentLog
          ? followAgent(parts, sinceMs, take, signal)
          : followService(parts, name, sinceMs, take, signal);
      await Promise.all(wanted.map(follow));
    };
  };
}

async function followAgent(
  { agentLines, logger }: LogParts,
  sinceMs: number | null,
  onLine: OnLine<LogLine>,
  signal: AbortSignal,
): Promise<void> {
  const take = (text: string, time: string): void | Promise<void> => onLine({ service: agentLog, time, text });
  const ended = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
  // What is logged while the last lines are read comes after them.
  let waiting: [text: string, time: string][] | null = [];
  using _subscription = logger.subscribe((event) => {
    const line: [string, string] = [JSON.stringify(event), event.time];
    if (waiting) waiting.push(line);
    else if (!signal.aborted) void take(...line);
  });
  const seen = new Set<string>();
  for (const text of (await agentLines()).slice(-firstLines)) {
    const time = timeOf(text);
    if (time === null || (sinceMs !== null && Date.parse(time) < sinceMs)) continue;
    seen.add(text);
    await take(text, time);
  }
  for (const line of waiting) if (!seen.has(line[0])) await take(...line);
  waiting = null;
  if (!signal.aborted) await ended;
}

function timeOf(line: string): string | null {
  const time = parseObject(line)?.['time'];
  return typeof time === 'string' ? time : null;
}

async function followService(
  { operator, clock }: LogParts,
  service: string,
  sinceMs: number | null,
  onLine: OnLine<LogLine>,
  signal: AbortSignal,
): Promise<void> {
  let since = sinceMs;
  let last = '';
  let fault: string | null = null;
  while (!signal.aborted) {
    const take: OnLine<Omit<LogLine, 'service'>> = async (line) => {
      // Asked again since a time, the engine repeats what it had at that time.
      if (line.time <= last) return;
      last = line.time;
      since = Date.parse(line.time);
      await onLine({ ...line, service });
    };
    try {
      await operator.followLog(service, { since, lines: firstLines }, take, signal);
      fault = null;
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof StationError)) throw error;
      if (error.message !== fault)
        await onLine({ service, time: new Date(clock.now()).toISOString(), text: error.message });
      fault = error.message;
    }
    // Without a line so far nothing is missed from now on.
    since ??= clock.now();
    await clock.sleep(restartMs, signal).catch(() => undefined);
  }
}
