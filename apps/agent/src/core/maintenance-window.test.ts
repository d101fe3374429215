import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isInsideWindow, parseMaintenanceWindow } from './maintenance-window.ts';

const at = (time: string): number => {
  const [hours = 0, minutes = 0] = time.split(':').map(Number);
  return hours * 60 + minutes;
};

describe('a maintenance window', () => {
  const cases: [string, string, boolean][] = [
    ['02:00-05:00', '01:59', false],
    ['02:00-05:00', '02:00', true],
    ['02:00-05:00', '04:59', true],
    ['02:00-05:00', '05:00', false],
    ['23:00-01:30', '22:59', false],
    ['23:00-01:30', '23:00', true],
    ['23:00-01:30', '00:00', true],
    ['23:00-01:30', '01:29', true],
    ['23:00-01:30', '01:30', false],
    ['00:00-23:59', '23:58', true],
    ['00:00-23:59', '23:59', false],
  ];
  for (const [window, time, inside] of cases) {
    it(`${window} ${inside ? 'holds' : 'does not hold'} ${time}`, () => {
      const parsed = parseMaintenanceWindow(window);
      assert.ok(parsed);
      assert.equal(isInsideWindow(parsed, at(time)), inside);
    });
  }

  it('that is not set holds any time', () => assert.equal(isInsideWindow(null, 0), true));
});
