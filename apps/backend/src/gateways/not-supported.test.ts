import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createNotSupported } from './not-supported.ts';

const entry = (name: string) => ({ name, reason: 'kind', detail: null }) as const;

test('a source that says it again replaces what it said, and may take all of it back', () => {
  const list = createNotSupported();
  list.tell('a', [entry('one'), entry('two')]);
  list.tell('b', [entry('three')]);
  list.tell('a', [entry('four')]);
  assert.deepEqual(
    list.all().map(({ name }) => name),
    ['three', 'four'],
  );
  list.tell('b', []);
  list.tell('a', []);
  assert.deepEqual(list.all(), []);
});

test('the list is bounded, in number and in length, and has room again', () => {
  const list = createNotSupported();
  for (let at = 0; at < 2_000; at += 1) list.tell(`s${at}`, [entry(`${at} ${'x'.repeat(5_000)}`)]);
  assert.deepEqual([list.all().length, list.all()[0]?.name.length], [500, 160]);
  list.tell('s0', []);
  list.tell('new', [entry('new')]);
  assert.equal(list.all().at(-1)?.name, 'new');
});

test('what several messages say alike is listed once', () => {
  const list = createNotSupported();
  list.tell('a', [entry('lamp')]);
  list.tell('b', [entry('lamp')]);
  assert.deepEqual(list.all(), [entry('lamp')]);
  list.tell('a', []);
  assert.deepEqual(list.all(), [entry('lamp')]);
});
