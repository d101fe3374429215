import { STATUS_CODES } from 'node:http';
import { errorCodes, type ErrorBody, type ErrorCode } from '@station/protocol/errors';
import { StationError } from '@station/kit/station-error';
import { RequestInvalid } from './validation.ts';

/** The one place where anything thrown becomes an HTTP answer (contracts, section 0). */
export type ErrorAnswer = {
  body: ErrorBody;
  headers: Record<string, string>;
  /** Nobody expected it: worth a line in the log. */
  isSurprise: boolean;
};

/** Fastify's own errors (fastify.dev/docs/latest/Reference/Errors) in the codes of the catalogue. */
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

export function toErrorAnswer(error: unknown): ErrorAnswer {
  if (error instanceof MethodNotAllowed) {
    return answer('method_not_allowed', error.message, undefined, { allow: error.allowed.join(', ') });
  }
  if (error instanceof RequestInvalid) {
    const told = error.faults.map(({ in: part, pointer, message }) => `${part} ${pointer || '/'} ${message}`);
    const message = `The request is not valid: ${told.join('; ')}`.slice(0, 1000);
    return answer('validation_failed', message, { faults: error.faults });
  }
  if (error instanceof StationError) return answer(error.code, error.message, error.details);
  const code = frameworkCode(error);
  return { ...answer(code, frameworkMessages[code] ?? code), isSurprise: code === 'internal' };
}

/** A path that exists, asked for with a method it does not have. */
export class MethodNotAllowed extends Error {
  readonly allowed: readonly string[];

  constructor(allowed: readonly string[]) {
    super(`This address takes ${allowed.join(' and ')}.`);
    this.name = 'MethodNotAllowed';
    this.allowed = allowed;
  }
}

export const shuttingDown = (): StationError =>
  new StationError('shutting_down', 'The agent is stopping. What is under way goes on when it starts again.');

function answer(
  code: ErrorCode,
  message: string,
  details?: unknown,
  headers: Record<string, string> = {},
): ErrorAnswer {
  const statusCode = errorCodes[code];
  const error = STATUS_CODES[statusCode] ?? 'Error';
  const challenge = code === 'unauthorized' ? { 'www-authenticate': 'Bearer' } : {};
  return {
    body: { statusCode, error, code, message, ...(details === undefined ? {} : { details }) },
    headers: { ...headers, ...challenge },
    isSurprise: false,
  };
}

function frameworkCode(error: unknown): ErrorCode {
  if (!(error instanceof Error)) return 'internal';
  const known = 'code' in error && typeof error.code === 'string' ? frameworkCodes[error.code] : undefined;
  if (known !== undefined) return known;
  const status = 'statusCode' in error ? error.statusCode : undefined;
  return typeof status === 'number' && status >= 400 && status < 500 ? 'bad_request' : 'internal';
}
