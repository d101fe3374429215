import { errorCodes, type ErrorCode } from '@station/protocol/errors';

/** A failure with an error code. Its message is for people and contains no secret; the cause is for the log. */
export class StationError extends Error {
  readonly code: ErrorCode;
  readonly details: unknown;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; details?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StationError';
    this.code = code;
    this.details = options.details;
  }

  get statusCode(): number {
    return errorCodes[this.code];
  }
}

/** Describes a thrown error and its causes in one line, for log events, not for clients. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error; at !== undefined && parts.length < 5; at = at instanceof Error ? at.cause : undefined) {
    parts.push(at instanceof Error ? at.message || at.name : typeof at === 'string' ? at : 'not an error');
  }
  return parts.join(': ').slice(0, 1000);
}
