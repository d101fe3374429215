import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isSwitching, withPhase } from '../../api/station.ts';
import { sampleOperation, sampleStatus } from './sample-status.ts';
import { stepsOf } from './steps.ts';

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
