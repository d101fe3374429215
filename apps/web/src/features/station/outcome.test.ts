import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSwitching, withPhase } from '../../api/station.ts';
import { newestFirst, outcomeOf, stepsOf, unreadResult } from './outcome.ts';
import { sampleEntry, sampleOperation, sampleStatus } from './sample-status.ts';

const now = Date.parse('2026-11-20T12:00:00.000Z');

test('the latest result stays until it was read, in any order of the history', () => {
  const older = sampleEntry({ id: 'older', endedAt: '2026-11-20T09:00:00.000Z' });
  const latest = sampleEntry({ id: 'latest' });
  assert.equal(unreadResult([older, latest], null, now)?.id, 'latest');
  assert.equal(unreadResult([latest, older], 'older', now)?.id, 'latest');
  assert.equal(unreadResult([older, latest], 'latest', now), null);
  assert.equal(unreadResult([], null, now), null);
});

test('the first installation is no news', () => {
  assert.equal(unreadResult([sampleEntry({ from: null })], null, now), null);
});

test('an old result is not shown to a new browser', () => {
  assert.equal(unreadResult([sampleEntry({ endedAt: '2026-11-01T09:00:00.000Z' })], null, now), null);
});

test('each end of an operation has its own outcome', () => {
  const ends = [
    sampleEntry(),
    sampleEntry({ result: 'rolled_back', reason: 'x' }),
    sampleEntry({ result: 'failed', reason: 'x', downtimeMs: null }),
    sampleEntry({ result: 'failed', reason: 'x', downtimeMs: null, isSwitched: true }),
    sampleEntry({ kind: 'rollback', result: 'failed', reason: 'x', downtimeMs: null, isSwitched: true }),
    sampleEntry({ kind: 'rollback', result: 'failed', reason: 'x', downtimeMs: null, isSwitched: false }),
    sampleEntry({ kind: 'rollback', result: 'rolled_back' }),
    sampleEntry({ kind: 'rollback', result: 'rolled_back', reason: 'x' }),
    sampleEntry({ kind: 'bootstrap', result: 'failed', reason: 'x', downtimeMs: null }),
  ];
  assert.deepEqual(ends.map(outcomeOf), [
    'updated',
    'reverted',
    'not_installed',
    'both_failed',
    'neither_way',
    'stayed',
    'went_back',
    'stayed',
    'start_failed',
  ]);
});

test('a way back that the agent chose is told as the failure of the release that it left', () => {
  const because = { code: 'release_crashes', reason: 'service "backend" has crashed 3 times' };
  const entry = sampleEntry({
    kind: 'rollback',
    result: 'rolled_back',
    trigger: 'automatic',
    from: '2.0.0',
    to: '1.0.0',
    because,
  });
  const [told] = newestFirst([entry]);
  assert.deepEqual(
    [told && outcomeOf(told), told?.to, told?.from, told?.code],
    ['reverted', '2.0.0', '1.0.0', because.code],
  );
  const failed = newestFirst([{ ...entry, reason: 'not healthy' }])[0];
  assert.equal(failed && outcomeOf(failed), 'stayed');
});

const drawn = (change: Parameters<typeof sampleOperation>[0]): string =>
  stepsOf(sampleOperation(change))
    .map((step) => `${step.id}:${step.state}`)
    .join(' ');

test('an update goes through four steps', () => {
  assert.equal(drawn({ phase: 'preparing' }), 'prepare:now fetch:next switch:next verify:next');
  assert.equal(drawn({ phase: 'pulling' }), 'prepare:done fetch:now switch:next verify:next');
  assert.equal(drawn({ phase: 'verifying' }), 'prepare:done fetch:done switch:done verify:now');
});

test('a release that fails shows where it failed and the way back', () => {
  assert.equal(
    drawn({ phase: 'reverting' }),
    'prepare:done fetch:done switch:done verify:failed revert:now verifyRevert:next',
  );
  assert.equal(
    drawn({ phase: 'verifying_revert' }),
    'prepare:done fetch:done switch:done verify:failed revert:done verifyRevert:now',
  );
});

test('going back downloads nothing, unless it really does', () => {
  assert.equal(drawn({ kind: 'rollback', phase: 'switching' }), 'prepare:done switch:now verify:next');
  assert.equal(drawn({ kind: 'rollback', phase: 'pulling' }), 'prepare:done fetch:now switch:next verify:next');
});

test('silence is expected only while the services are being replaced', () => {
  assert.equal(isSwitching(null), false);
  assert.equal(isSwitching(sampleOperation({ phase: 'pulling' })), false);
  assert.equal(isSwitching(sampleOperation({ phase: 'reverting' })), true);
});

test('a new phase is shown at once, but only of the operation on the screen and only one that exists', () => {
  const status = sampleStatus({ operation: sampleOperation() });
  const event = (fields: object) => ({ time: '', level: 'info', event: 'update_phase', ...fields });
  assert.equal(withPhase(status, event({ operationId: 'op-1', phase: 'switching' })).operation?.phase, 'switching');
  assert.equal(withPhase(status, event({ operationId: 'op-2', phase: 'switching' })), status);
  assert.equal(withPhase(status, event({ operationId: 'op-1', phase: 'constructor' })), status);
  assert.equal(withPhase(status, event({ event: 'docker_pull', operationId: 'op-1', phase: 'switching' })), status);
});
