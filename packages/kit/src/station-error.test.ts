import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { describeError, StationError } from './station-error.ts';

describe('a station error', () => {
  it('has the status of its code, and keeps its cause and details', () => {
    const cause = new Error('deeper');
    const error = new StationError('disk_space_low', 'Too little space.', { cause, details: { missingBytes: 5 } });
    assert.deepEqual(
      [error.code, error.statusCode, error.cause, error.details],
      ['disk_space_low', 507, cause, { missingBytes: 5 }],
    );
    assert.ok(!('cause' in new StationError('internal', 'x')));
  });
});

describe('describeError', () => {
  it('lists the causes in one line', () => {
    const error = new Error('top', { cause: new Error('middle', { cause: 'bottom' }) });
    assert.equal(describeError(error), 'top: middle: bottom');
    assert.equal(describeError('only a text'), 'only a text');
    assert.equal(describeError(new TypeError('')), 'TypeError');
  });

  it('ends for long and circular chains of causes', () => {
    const error = new Error('x'.repeat(900));
    error.cause = error;
    assert.equal(describeError(error).length, 1000);
  });
});
