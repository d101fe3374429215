import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createConditions } from './conditions.ts';

function setUp() {
  const changes: string[] = [];
  const conditions = createConditions({
    catalogue: {
      hot: { severity: 'warning', message: 'It is hot.' },
      wet: { severity: 'fault', message: 'It is wet.' },
    },
    clock: { now: () => 1000 },
    onRaised: ({ id, severity }) => void changes.push(`${id} ${severity}`),
    onCleared: (id) => void changes.push(`no longer ${id}`),
  });
  return { conditions, changes };
}

describe('conditions', () => {
  it('are reported once when raised and once when cleared', () => {
    const { conditions, changes } = setUp();
    for (const holds of [false, true, true, false, false]) conditions.set('hot', holds);
    assert.deepEqual(changes, ['hot warning', 'no longer hot']);
    assert.equal(conditions.has('hot'), false);
  });

  it('are listed in the order in which they were raised, with that time', () => {
    const { conditions } = setUp();
    conditions.set('wet', true, 500);
    conditions.set('hot', true);
    conditions.set('wet', true, 700);
    assert.deepEqual(conditions.list(), [
      { id: 'wet', severity: 'fault', message: 'It is wet.', since: '1970-01-01T00:00:00.500Z' },
      { id: 'hot', severity: 'warning', message: 'It is hot.', since: '1970-01-01T00:00:01.000Z' },
    ]);
    assert.equal(conditions.has('wet'), true);
  });
});
