import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readRetryAfter } from './retry-after.ts';

const nowMs = Date.parse('2026-11-25T10:00:00Z');

test('reads the wait that a server asks for', () => {
  const day = 24 * 3600_000;
  for (const [header, ms] of [
    ['0', 0],
    ['120', 120_000],
    [' 7 ', 7000],
    ['99999999999999999999', day],
    ['Wed, 25 Nov 2026 10:02:00 GMT', 120_000],
    ['Wed, 25 Nov 2026 09:00:00 GMT', 0],
    ['Wed, 25 Nov 2036 10:00:00 GMT', day],
    // The two older forms of a date (RFC 9110, section 5.6.7), and one without a zone.
    ['Wednesday, 25-Nov-26 10:02:00 GMT', 120_000],
    ['Wed Nov 25 10:02:00 2026', 120_000],
    ['Wed, 25 Nov 2026 10:02:00', 120_000],
    ['Wed, 32 Nov 2026 10:02:00 GMT', null],
    ['2026-11-25T10:02:00Z', null],
    ['soon', null],
    ['-5', null],
    ['1.5', null],
    ['', null],
    [undefined, null],
  ] as const) {
    assert.equal(readRetryAfter(header, nowMs), ms, String(header));
  }
  assert.equal(readRetryAfter(['3', '9'], nowMs), 3000);
});
