import assert from 'node:assert/strict';
import { test } from 'node:test';
import { find, findable, wordsOf } from './find-decide.ts';

const entries = findable([
  { title: 'Hall lamp', detail: 'Hall' },
  { title: 'Ceiling lamp', detail: 'Kitchen' },
  { title: 'Desk lamp', detail: 'Study' },
  { title: 'Kitchen' },
  { title: 'Thermometer', words: 'Climate sensor', detail: 'Kitchen' },
  { title: 'Check for updates', words: 'release upgrade' },
  { title: 'Стеля у вітальні' },
  { title: 'Комп’ютер' },
  { title: 'Café' },
]);
const titles = (typed: string): string[] => find(entries, typed).map(({ title }) => title);

for (const [typed, expected] of [
  ['hall', ['Hall lamp']],
  ['HALL LAMP', ['Hall lamp']],
  ['lamp hall', ['Hall lamp']],
  ['la', ['Hall lamp', 'Ceiling lamp', 'Desk lamp']],
  ['kitchen', ['Kitchen', 'Ceiling lamp', 'Thermometer']],
  ['kitchen lamp', ['Ceiling lamp']],
  ['climate', ['Thermometer']],
  ['meter', ['Thermometer']],
  // Typing mistakes: exchanged, missing, wrong, too many, and two in a long word.
  ['ktichen', ['Kitchen', 'Ceiling lamp', 'Thermometer']],
  ['kichen', ['Kitchen', 'Ceiling lamp', 'Thermometer']],
  ['ceolin', ['Ceiling lamp']],
  ['thhermometer', ['Thermometer']],
  ['termomater', ['Thermometer']],
  ['вітальня', ['Стеля у вітальні']],
  ['стелч', ['Стеля у вітальні']],
  ['компютер', ['Комп’ютер']],
  ["комп'ютер", ['Комп’ютер']],
  ['cafe', ['Café']],
  // Short words have to be right, and another word is another word.
  ['hxl', []],
  ['garage', []],
  ['hall garage', []],
] as const) {
  test(`"${typed}" finds ${expected.join(', ') || 'nothing'}`, () => assert.deepEqual(titles(typed), expected));
}

test('without a word everything is found, in its order', () => {
  assert.equal(titles('  ').length, 9);
  assert.equal(titles('')[0], 'Hall lamp');
});

test('words are letters and digits, without marks', () => {
  assert.deepEqual(wordsOf('Café-Lämpchen №2, д’Артаньян'), ['cafe', 'lampchen', '2', 'дартаньян']);
});
