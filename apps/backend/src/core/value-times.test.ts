import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readValueTimes, stateTimesOf, valueTimesAfter, valueTimesText } from './value-times.ts';

const none = readValueTimes(null);

test('a value that a report does not contain keeps the time of its own report, until it is reported again', () => {
  const state = { a: 1, b: 2, c: 3 };
  const first = valueTimesAfter(none, { state, stateAt: 10 }, { a: 1, b: 2 });
  assert.deepEqual([...first], [['c', 10]]);
  const second = valueTimesAfter(first, { state, stateAt: 20 }, { a: 1 });
  assert.deepEqual(Object.fromEntries(second), { b: 20, c: 10 });
  assert.deepEqual([...valueTimesAfter(second, { state, stateAt: 30 }, { b: 0, c: 0 })], [['a', 30]]);
  assert.equal(valueTimesAfter(second, { state, stateAt: 30 }, state).size, 0);
});

test('a key like a property of every object has its own time', () => {
  const state = JSON.parse('{"__proto__":1,"constructor":2}') as Record<string, unknown>;
  const times = valueTimesAfter(none, { state, stateAt: 5 }, {});
  assert.deepEqual(
    [...readValueTimes(valueTimesText(times))],
    [
      ['__proto__', 5],
      ['constructor', 5],
    ],
  );
  assert.deepEqual(Object.keys(stateTimesOf(times, 6)), ['__proto__', 'constructor']);
});

test('without such values nothing is stored, and unreadable times count as none', () => {
  assert.equal(valueTimesText(none), '');
  for (const text of [null, '', '{"a":', 'null', '{"a":"x"}']) assert.equal(readValueTimes(text).size, 0, String(text));
});

test('a value of the same millisecond as the latest report is not older', () => {
  assert.deepEqual(stateTimesOf(readValueTimes('{"a":1000,"b":2000}'), 2_000), { a: '1970-01-01T00:00:01.000Z' });
});
