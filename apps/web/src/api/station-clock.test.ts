import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStationClock } from './station-clock.ts';

const start = Date.parse('2026-11-20T12:00:00.000Z');

test('a phone whose clock is ten minutes slow still knows the time on the station', () => {
  const clock = createStationClock(() => start - 600_000);
  assert.equal(clock.now(), start - 600_000);
  clock.observeHeader(new Date(start).toUTCString());
  assert.ok(Math.abs(clock.now() - start) <= 1_000);
  clock.observeMessage(new Date(start + 250).toISOString());
  assert.equal(clock.now(), start + 250);
  clock.observeHeader(new Date(start).toUTCString());
  assert.equal(clock.now(), start + 250, 'a coarse header does not replace the exact time of a message');
});

test('clocks that agree within a second are not corrected, and nonsense is ignored', () => {
  const clock = createStationClock(() => start);
  clock.observeHeader(new Date(start - 400).toUTCString());
  clock.observeHeader('soon');
  clock.observeMessage('later');
  assert.equal(clock.now(), start);
});

test('when the station sets its clock, the page follows', () => {
  const clock = createStationClock(() => start);
  clock.observeMessage(new Date(start).toISOString());
  clock.observeHeader(new Date(start + 3_600_000).toUTCString());
  assert.ok(Math.abs(clock.now() - start - 3_600_000) <= 1_000);
});
