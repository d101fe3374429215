import assert from 'node:assert/strict';
import { test } from 'node:test';
import { moved, pinched, selected, zoomed } from './history-span.ts';

const minute = 60_000;
const now = 1_000 * minute;
const span = { fromMs: 800 * minute, toMs: 900 * minute };

test('zooming keeps the time under the pointer, and ends at five minutes, a year and now', () => {
  assert.deepEqual(zoomed(span, 0.5, 820 * minute, now), { fromMs: 810 * minute, toMs: 860 * minute });
  const closest = zoomed(span, 0.001, 850 * minute, now);
  assert.deepEqual(closest, { fromMs: 847.5 * minute, toMs: 852.5 * minute });
  assert.equal(zoomed(span, 4, 850 * minute, now).toMs, now);
  const widest = zoomed(span, 1e9, 850 * minute, now);
  assert.equal(widest.toMs - widest.fromMs, 365 * 24 * 60 * minute);
});

test('a span may be drawn in both directions', () => {
  const expected = { fromMs: 810 * minute, toMs: 820 * minute };
  assert.deepEqual(selected(810 * minute, 820 * minute, now), expected);
  assert.deepEqual(selected(820 * minute, 810 * minute, now), expected);
});

test('moving keeps the length and stops at now', () => {
  assert.deepEqual(moved(span, -0.5, now), { fromMs: 750 * minute, toMs: 850 * minute });
  assert.deepEqual(moved(span, 3, now), { fromMs: 900 * minute, toMs: now });
});

test('two fingers take the times under them along', () => {
  const times = [825 * minute, 875 * minute] as const;
  assert.deepEqual(pinched(times, [0.25, 0.75], now), span);
  assert.deepEqual(pinched(times, [0, 1], now), { fromMs: times[0], toMs: times[1] });
  assert.deepEqual(pinched(times, [0.5, 1], now), { fromMs: 775 * minute, toMs: 875 * minute });
});
