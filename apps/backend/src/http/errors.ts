import { STATUS_CODES } from 'node:http';
import { errorCodes, type ErrorBody, type ErrorCode } from '@station/protocol/errors';
import { StationError } from '@station/kit/station-error';
import { RequestInvalidError } from './validation.ts';

/** The one place where anything thrown becomes an HTTP answer. */
export type ErrorResponse = {
  body: ErrorBody;
  headers: Record<string, string>;
  /** The caller did nothing wrong: worth a line in the log. */
  isFault: boolean;
};

/** Fastify's own errors (fastify.dev/docs/latest/Reference/Errors) in our codes. */
const frameworkCodes: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'payload_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'bad_request',
  FST_ERR_CTP_INVALID_JSON_BODY: 'bad_request',
  FST_ERR_BAD_URL: 'bad_request',
  FST_ERR_MAX_PARAM_LENGTH: 'bad_request',
};

const messages: Partial<Record<ErrorCode, string>> = {
  bad_request: 'The request could not be read.',
  payload_too_large: 'The request is larger than what is accepted.',
  unsupported_media_type: 'The body must be JSON (content-type application/json).',
  internal: 'Something went wrong here. It was written to the log.',
};

/** Details of `too_many_requests`. */
export type RetryDetails = { retryAfterSeconds: number };

export function toErrorResponse(error: unknown): ErrorResponse {
  if (error instanceof StationError) {
    return response(error.code, error.message, error.details);
  }
  if (error instanceof RequestInvalidError) {
    const where = error.faults.map(({ in: part, pointer, message }) => `${part} ${pointer || '/'}: ${message}`);
    return response('validation_failed', `The request is not valid: ${where.join('; ')}`.slice(0, 1000), {
      faults: error.faults,
    });
  }
  const code = frameworkCode(error);
  return response(code, messages[code] ?? STATUS_CODES[errorCodes[code]] ?? code);
}

/** Body of an error that no exception stands behind. */
export function errorBody(code: ErrorCode, message: string, details?: unknown): ErrorBody {
  const statusCode = errorCodes[code];
  const error = STATUS_CODES[statusCode] ?? 'Error';
  return { statusCode, error, code, message, ...(details === undefined ? {} : { details }) };
}

function response(code: ErrorCode, message: string, details?: unknown): ErrorResponse {
  const headers: Record<string, string> = {};
  if (code === 'unauthorized') headers['www-authenticate'] = 'Bearer';
  if (code === 'too_many_requests') headers['retry-after'] = String((details as RetryDetails).retryAfterSeconds);
  return { body: errorBody(code, message, details), headers, isFault: errorCodes[code] === 500 };
}

function frameworkCode(error: unknown): ErrorCode {
  if (!(error instanceof Error)) return 'internal';
  const known = 'code' in error && typeof error.code === 'string' ? frameworkCodes[error.code] : undefined;
  if (known !== undefined) return known;
  // Other refusals of the framework and its plugins, such as a broken cookie or a malformed range.
  const status = 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? 'bad_request' : 'internal';
}
