import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endTime, localOf } from './guest-end.ts';

const at = (iso: string): number => Date.parse(iso);
const iso = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

test('tonight ends at the next midnight where the station is', () => {
  const tonight = (now: string, zone: string) => iso(endTime({ kind: 'tonight' }, at(now), zone));
  assert.equal(tonight('2026-11-24T21:30:00Z', 'Europe/Kyiv'), '2026-11-24T22:00:00.000Z');
  assert.equal(tonight('2026-11-24T22:00:00Z', 'Europe/Kyiv'), '2026-11-25T22:00:00.000Z');
  assert.equal(tonight('2026-11-24T12:30:00Z', 'Pacific/Auckland'), '2026-11-25T11:00:00.000Z');
  assert.equal(tonight('2026-12-31T12:00:00Z', 'UTC'), '2027-01-01T00:00:00.000Z');
});

test('a date is read with the clock of the station, also on days when the clocks change', () => {
  const date = (local: string, zone: string) => iso(endTime({ kind: 'date', local }, 0, zone));
  assert.equal(date('2026-11-24T18:30', 'Europe/Kyiv'), '2026-11-24T16:30:00.000Z');
  assert.equal(date('2026-07-24T18:30', 'Europe/Kyiv'), '2026-07-24T15:30:00.000Z');
  assert.equal(date('2026-03-29T03:30', 'Europe/Kyiv'), '2026-03-29T01:30:00.000Z', 'clocks skip it');
  assert.equal(date('2026-10-25T03:30', 'Europe/Kyiv'), '2026-10-25T01:30:00.000Z', 'clocks show it twice');
  assert.equal(date('soon', 'Europe/Kyiv'), null);
});

test('a day and a week are counted from now', () => {
  const now = at('2026-11-24T10:00:00Z');
  assert.equal(iso(endTime({ kind: 'day' }, now, 'UTC')), '2026-11-25T10:00:00.000Z');
  assert.equal(iso(endTime({ kind: 'week' }, now, 'UTC')), '2026-12-01T10:00:00.000Z');
  assert.equal(localOf(now, 'Pacific/Auckland'), '2026-11-24T23:00');
});
