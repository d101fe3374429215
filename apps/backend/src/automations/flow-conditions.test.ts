import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compare, judge } from './flow-conditions.ts';
import { localTime } from '../core/local-time.ts';
import { fireOnEvent, fireOnState } from './trigger-listener.ts';

const deviceId = '01890000-0000-7000-8000-000000000001';
const midnight = { time: { weekday: 'mon', minutes: 0 }, sun: null } as const;

test('a missing value, or a value of a removed device, meets no condition', () => {
  const config = { deviceId, capability: 'power', value: false };
  const met = (state: Record<string, unknown> | null): boolean =>
    judge({ kind: 'state_equals', config }, { state, ...midnight }).met;
  assert.deepEqual([met({ power: false }), met({ power: true }), met({}), met(null)], [true, false, false, false]);
  const warm = { deviceId, capability: 'temperature', operator: 'gt', value: 20 } as const;
  const isWarm = (temperature: unknown): boolean =>
    judge({ kind: 'numeric_compare', config: warm }, { state: { temperature }, ...midnight }).met;
  assert.deepEqual([isWarm(20.1), isWarm(20), isWarm('30'), isWarm(null)], [true, false, false, false]);
});

test('operators compare as their names say', () => {
  const results = (['eq', 'ne', 'lt', 'lte', 'gt', 'gte'] as const).map((operator) =>
    [1, 2, 3].map((value) => compare(operator, value, 2)),
  );
  assert.deepEqual(results, [
    [false, true, false],
    [true, false, true],
    [true, false, false],
    [true, true, false],
    [false, false, true],
    [false, true, true],
  ]);
  assert.equal(compare('ne', undefined, 2), false);
});

test('a time range may span midnight, and its weekday is that of its start', () => {
  const at = (weekday: 'fri' | 'sat' | 'sun', time: string, range: { from: string; to: string; days?: ['fri'] }) => {
    const [hour = 0, minute = 0] = time.split(':').map(Number);
    const facts = { state: null, time: { weekday, minutes: hour * 60 + minute }, sun: null };
    return judge({ kind: 'time_range', config: range }, facts).met;
  };
  const night = { from: '22:00', to: '06:00' };
  assert.deepEqual(
    ['21:59', '22:00', '23:59', '00:00', '05:59', '06:00'].map((time) => at('fri', time, night)),
    [false, true, true, true, true, false],
  );
  const friday = { ...night, days: ['fri'] as ['fri'] };
  assert.deepEqual(
    [at('fri', '23:00', friday), at('sat', '05:00', friday), at('fri', '05:00', friday), at('sat', '23:00', friday)],
    [true, true, false, false],
  );
  const day = { from: '08:00', to: '18:00', days: ['fri'] as ['fri'] };
  assert.deepEqual([at('fri', '08:00', day), at('fri', '18:00', day), at('sun', '12:00', day)], [true, false, false]);
  assert.ok(at('sun', '13:00', { from: '07:00', to: '07:00' }), 'the whole day');
});

test('the local time follows the time zone through both clock changes', () => {
  const at = (time: string): string => {
    const { weekday, minutes } = localTime(Date.parse(time), 'Europe/Kyiv');
    return `${weekday} ${Math.floor(minutes / 60)}:${minutes % 60}`;
  };
  assert.deepEqual([at('2026-03-29T00:59:00Z'), at('2026-03-29T01:00:00Z')], ['sun 2:59', 'sun 4:0']);
  assert.deepEqual([at('2026-10-25T00:59:00Z'), at('2026-10-25T01:00:00Z')], ['sun 3:59', 'sun 3:0']);
  assert.equal(localTime(0, 'Nowhere/Else').minutes, 0);
});

test('a trigger fires when the state begins to match, not while it still matches', () => {
  const fires = (from: unknown, to: unknown, config: object): boolean => {
    const report = { kind: 'state', deviceId, at: 1, state: { x: to } } as const;
    const before = from === undefined ? {} : { x: from };
    return fireOnState({ capability: 'x', ...config }, before, report) !== null;
  };
  const over = { operator: 'gt', value: 25 };
  assert.deepEqual(
    [fires(24, 26, over), fires(26, 27, over), fires(27, 25, over), fires(undefined, 30, over)],
    [true, false, false, true],
  );
  const isTrue = { operator: 'eq', value: true };
  assert.deepEqual([fires(false, true, isTrue), fires(true, true, isTrue)], [true, false]);
  assert.deepEqual(
    [fires(1, 2, {}), fires(2, 2, {}), fires([1], [1], {}), fires(undefined, 1, {})],
    [true, false, false, true],
  );
  const other = { kind: 'state', deviceId, at: 1, state: { y: 1 } } as const;
  assert.equal(fireOnState({ capability: 'x' }, {}, other), null);
});

test('an event trigger fires for the named events; answers of a device to the station start nothing', () => {
  const fires = (config: object, action: string, eventKind = 'device_event'): boolean =>
    fireOnEvent({ deviceId, ...config }, { kind: 'event', deviceId, at: 1, eventKind, data: { action } }) !== null;
  assert.deepEqual(
    [fires({}, 'button_pressed'), fires({}, 'command_ack'), fires({}, 'ota_progress')],
    [true, false, false],
  );
  assert.deepEqual([fires({ action: 'a' }, 'a'), fires({ action: 'a' }, 'b')], [true, false]);
  assert.deepEqual(
    [fires({ event: 'user_event' }, 'a', 'user_event'), fires({ event: 'user_event' }, 'a')],
    [true, false],
  );
  const long = {
    kind: 'event',
    deviceId,
    at: 1,
    eventKind: 'device_event',
    data: { action: 'a', x: 'y'.repeat(9_999) },
  };
  assert.ok(JSON.stringify(fireOnEvent({ deviceId }, long as never)).length < 2_000);
});
