import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { errorBody, MethodNotAllowedError, toErrorResponse } from './http-errors.ts';
import { StationError } from './station-error.ts';
import { RequestInvalidError } from './validation.ts';

const framework = (code: string, statusCode: number): Error =>
  Object.assign(new Error('inner text'), { code, statusCode });

describe('toErrorResponse', () => {
  const rows: [
    string,
    unknown,
    { code: string; status: number; message: string; headers?: object; isFault?: boolean },
  ][] = [
    [
      'an error of the catalogue',
      new StationError('update_in_progress', 'An update runs.'),
      { code: 'update_in_progress', status: 409, message: 'An update runs.' },
    ],
    [
      'a missing token',
      new StationError('unauthorized', 'No token.'),
      { code: 'unauthorized', status: 401, message: 'No token.', headers: { 'www-authenticate': 'Bearer' } },
    ],
    [
      'too many requests',
      new StationError('too_many_requests', 'Later.', { details: { retryAfterSeconds: 7 } }),
      { code: 'too_many_requests', status: 429, message: 'Later.', headers: { 'retry-after': '7' } },
    ],
    [
      'a method that the path does not have',
      new MethodNotAllowedError(['GET', 'HEAD']),
      {
        code: 'method_not_allowed',
        status: 405,
        message: 'This address takes GET and HEAD.',
        headers: { allow: 'GET, HEAD' },
      },
    ],
    [
      'an invalid request',
      new RequestInvalidError([{ in: 'body', pointer: '', message: 'must be an object' }]),
      { code: 'validation_failed', status: 400, message: 'The request is not valid: body /: must be an object' },
    ],
    [
      'a body that is too large',
      framework('FST_ERR_CTP_BODY_TOO_LARGE', 413),
      { code: 'payload_too_large', status: 413, message: 'The request is larger than what is accepted.' },
    ],
    [
      'another refusal of the framework, without its text',
      framework('FST_ERR_BAD_URL', 400),
      { code: 'bad_request', status: 400, message: 'The request could not be read.' },
    ],
    [
      'anything unexpected, without its text',
      new TypeError('/home/secret'),
      {
        code: 'internal',
        status: 500,
        message: 'Something went wrong here. It was written to the log.',
        isFault: true,
      },
    ],
    [
      'a thrown value that is not an Error',
      'text',
      {
        code: 'internal',
        status: 500,
        message: 'Something went wrong here. It was written to the log.',
        isFault: true,
      },
    ],
  ];
  for (const [title, error, { code, status, message, headers = {}, isFault = false }] of rows) {
    it(`answers ${title}`, () => {
      const answer = toErrorResponse(error);
      assert.deepEqual(
        [answer.body.code, answer.body.statusCode, answer.body.message, answer.headers, answer.isFault],
        [code, status, message, headers, isFault],
      );
    });
  }
});

it('errorBody has details only when they are given', () => {
  assert.deepEqual(errorBody('not_found', 'Nothing.'), {
    statusCode: 404,
    error: 'Not Found',
    code: 'not_found',
    message: 'Nothing.',
  });
  assert.deepEqual(errorBody('conflict', 'No.', { a: 1 }).details, { a: 1 });
});
