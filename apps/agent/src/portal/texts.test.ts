import assert from 'node:assert/strict';
import { test } from 'node:test';
import { texts } from './texts.ts';

/** Path of each text → the places in it that are filled in. */
function placesOf(value: unknown, path = ''): Map<string, string[]> {
  if (typeof value === 'string') return new Map([[path, (value.match(/\{\w+\}/g) ?? []).sort()]]);
  return new Map(Object.entries(value as object).flatMap(([key, item]) => [...placesOf(item, `${path}/${key}`)]));
}

test('both languages have the same texts, with the same places to be filled in', () => {
  assert.deepEqual(placesOf(texts.uk), placesOf(texts.en));
});

test('no text is empty or the same in both languages', () => {
  const flat = (value: unknown): string[] =>
    typeof value === 'string' ? [value] : Object.values(value as object).flatMap(flat);
  const english = flat(texts.en);
  const ukrainian = flat(texts.uk);
  for (const [index, text] of english.entries()) {
    assert.notEqual(text, '');
    assert.notEqual(ukrainian[index], text);
  }
});
