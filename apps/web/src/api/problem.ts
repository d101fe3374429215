import type { ErrorCode } from '@station/protocol/errors';

/** What can go wrong on this side of the connection, beside the codes of the station. */
export type LocalCode = 'no_answer' | 'timed_out' | 'bad_answer';
export type ProblemCode = ErrorCode | LocalCode;

export type FieldFault = { pointer: string; message: string };

/** A request that did not end well. `code` decides; `message` is the station's own English and only a last resort. */
export class Problem extends Error {
  readonly code: ProblemCode;
  readonly status: number | null;
  readonly faults: readonly FieldFault[];
  /** From Retry-After, seconds; null when the station named none. */
  readonly retryAfterSeconds: number | null;

  constructor(
    code: ProblemCode,
    message: string,
    more: { status?: number; faults?: readonly FieldFault[]; retryAfterSeconds?: number | null; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.name = 'Problem';
    this.code = code;
    this.status = more.status ?? null;
    this.faults = more.faults ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

export const asProblem = (error: unknown): Problem =>
  error instanceof Problem ? error : new Problem('bad_answer', String(error), { cause: error });

/** Whether it is the way to the backend that failed, so that trying again by itself makes sense. */
export const isOutage = (problem: Problem): boolean =>
  problem.code === 'no_answer' ||
  problem.code === 'timed_out' ||
  problem.code === 'shutting_down' ||
  problem.code === 'unavailable' ||
  problem.code === 'agent_unreachable';
