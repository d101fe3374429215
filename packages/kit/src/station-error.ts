import { errorCodes, type ErrorCode } from '@station/protocol/errors';

/** A failure with a code of the catalogue. Its message is for people and carries no secret; the cause is kept for the log. */
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

/** One line about anything thrown, with the messages of its causes: for log events, not for clients. */
export function describeError(error: unknown): string {
  const parts: string[] = [];
  for (let at: unknown = error; at !== undefined && parts.length < 5; at = at instanceof Error ? at.cause : undefined) {
    parts.push(at instanceof Error ? at.message || at.name : typeof at === 'string' ? at : 'not an error');
  }
  return parts.join(': ').slice(0, 1000);
}
