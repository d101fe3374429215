import { ownValue } from '@station/protocol/own-value';
import { statusTexts } from './node-tables.ts';
import { errorCodes, type ErrorBody, type ErrorCode } from '@station/protocol/errors';
import { StationError } from './station-error.ts';
import { RequestInvalidError } from './validation.ts';

/** The HTTP response for a thrown error (contracts, section 0). The status is in the body. */
export type ErrorResponse = {
  body: ErrorBody;
  headers: Record<string, string>;
  /** An unexpected error of this program, which is logged. */
  isFault: boolean;
};

/** Details of `too_many_requests` and `busy`. */
export type RetryDetails = { retryAfterSeconds: number };

/** The path exists, but not with this method. */
export class MethodNotAllowedError extends Error {
  readonly allowed: readonly string[];

  constructor(allowed: readonly string[]) {
    super(`This address takes ${allowed.join(' and ')}.`);
    this.name = 'MethodNotAllowedError';
    this.allowed = allowed;
  }
}

/** Fastify's errors (fastify.dev/docs/latest/Reference/Errors) that have an own error code. */
const frameworkCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
};

const frameworkMessages: Partial<Record<ErrorCode, string>> = {
  bad_request: 'The request could not be read.',
  payload_too_large: 'The request is larger than what is accepted.',
  unsupported_media_type: 'The body must be JSON (content-type application/json).',
  internal: 'Something went wrong here. It was written to the log.',
};

export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof MethodNotAllowedError) {
    return response('method_not_allowed', error.message, { headers: { allow: error.allowed.join(', ') } });
  }
  if (error instanceof RequestInvalidError) {
    const where = error.faults.map(({ in: part, pointer, message }) => `${part} ${pointer || '/'}: ${message}`);
    const message = `The request is not valid: ${where.join('; ')}`.slice(0, 1000);
    return response('validation_failed', message, { details: { faults: error.faults } });
  }
  if (error instanceof StationError) return response(error.code, error.message, { details: error.details });
  const code = frameworkCode(error);
  return response(code, frameworkMessages[code] ?? code);
}

/** Body of an error without an exception. */
export function errorBody(code: ErrorCode, message: string, details?: unknown): ErrorBody {
  const statusCode = errorCodes[code];
  const error = statusTexts[statusCode] ?? 'Error';
  return { statusCode, error, code, message, ...(details === undefined ? {} : { details }) };
}

function response(
  code: ErrorCode,
  message: string,
  { details, headers = {} }: { details?: unknown; headers?: Record<string, string> } = {},
): ErrorResponse {
  const all = { ...headers };
  if (code === 'unauthorized') all['www-authenticate'] = 'Bearer';
  if (code === 'too_many_requests' || code === 'busy')
    all['retry-after'] = String((details as RetryDetails).retryAfterSeconds);
  return { body: errorBody(code, message, details), headers: all, isFault: code === 'internal' };
}

function frameworkCode(error: unknown): ErrorCode {
  if (!(error instanceof Error)) return 'internal';
  const known = 'code' in error && typeof error.code === 'string' ? ownValue(frameworkCodes, error.code) : undefined;
  if (known !== undefined) return known;
  // Other errors of the framework and its plugins, such as an invalid URL, cookie or range.
  const status = 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? 'bad_request' : 'internal';
}
