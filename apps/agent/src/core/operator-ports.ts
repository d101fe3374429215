import type { LogLine, LogQuery } from '@station/protocol/agent-machine';

/** A line of a log, without the name of the service. */
export type ServiceLine = Omit<LogLine, 'service'>;

/** Takes a line. While its promise is pending, no further line is read. */
export type OnLine<Line> = (line: Line) => Promise<void> | void;

/** What people do with one service of the stack. */
export type ServiceOperator = {
  /** A service that has no container is no error. */
  restart(service: string): Promise<void>;
  /**
   * Passes on the last lines, or those since a time, and then each new one. Resolves when the service stops or has no container.
   * @param options.since milliseconds since 1970; null: the last `lines`.
   * @throws StationError `unavailable` when the engine has no log of it, or cannot be reached.
   */
  followLog(
    service: string,
    options: { since: number | null; lines: number },
    onLine: OnLine<ServiceLine>,
    signal: AbortSignal,
  ): Promise<void>;
};

/** Passes on lines until the signal aborts. */
export type LogFollower = (onLine: OnLine<LogLine>, signal: AbortSignal) => Promise<void>;

/** The log of one service, of the agent, or of all of them. @throws (rejects) StationError `not_found`. */
export type OpenLog = (query: LogQuery) => Promise<LogFollower>;
