import assert from 'node:assert/strict';
import { test } from 'node:test';
import { outcomeOf, unreadResult } from './outcome.ts';
import { sampleEntry } from './sample-status.ts';

const now = Date.parse('2026-11-20T12:00:00.000Z');

test('the latest result stays until it was read, whatever the order of the history', () => {
  const older = sampleEntry({ id: 'older', endedAt: '2026-11-20T09:00:00.000Z' });
  const latest = sampleEntry({ id: 'latest' });
  assert.equal(unreadResult([older, latest], null, now)?.id, 'latest');
  assert.equal(unreadResult([latest, older], 'older', now)?.id, 'latest');
  assert.equal(unreadResult([older, latest], 'latest', now), null);
  assert.equal(unreadResult([], null, now), null);
});

test('an old story is not told to a browser that is new here', () => {
  assert.equal(unreadResult([sampleEntry({ endedAt: '2026-11-01T09:00:00.000Z' })], null, now), null);
});

test('each end of an operation has its own outcome', () => {
  const ends = [
    sampleEntry(),
    sampleEntry({ result: 'rolled_back', reason: 'x' }),
    sampleEntry({ result: 'failed', reason: 'x', downtimeMs: null }),
    sampleEntry({ result: 'failed', reason: 'x' }),
    sampleEntry({ kind: 'rollback', result: 'rolled_back' }),
    sampleEntry({ kind: 'rollback', result: 'rolled_back', reason: 'x' }),
    sampleEntry({ kind: 'bootstrap', result: 'failed', reason: 'x', downtimeMs: null }),
  ];
  assert.deepEqual(ends.map(outcomeOf), [
    'updated',
    'reverted',
    'not_installed',
    'both_failed',
    'went_back',
    'stayed',
    'start_failed',
  ]);
});
