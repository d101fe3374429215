import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedLog } from '../../testing/recorded-log.ts';
import { createBackendConditions } from './conditions.ts';

test('each change of a condition is told once, and a change of its details too', () => {
  const logger = recordedLog();
  let changes = 0;
  const conditions = createBackendConditions({ clock: { now: () => 1_000 }, logger, onChanged: () => (changes += 1) });
  conditions.set('unknown_devices', false);
  assert.equal(changes, 0);
  for (const count of [1, 1, 2]) conditions.set('unknown_devices', true, { count });
  assert.equal(changes, 2);
  const [condition] = conditions.list();
  assert.deepEqual(
    [condition?.id, condition?.severity, condition?.since, condition?.details],
    ['unknown_devices', 'info', '1970-01-01T00:00:01.000Z', { count: 2 }],
  );
  conditions.set('unknown_devices', false);
  assert.deepEqual([changes, conditions.list()], [3, []]);
  assert.equal(logger.events('condition_raised').length, 1);
  assert.equal(logger.events('condition_cleared').length, 1);
});
