import assert from 'node:assert/strict';
import { test } from 'node:test';
import { languages } from '@station/protocol/languages';
import { texts } from './texts.ts';

/** Path of each text → the text. */
function flat(value: unknown, path = ''): [string, string][] {
  if (typeof value === 'string') return [[path, value]];
  return Object.entries(value as object).flatMap(([key, item]) => flat(item, `${path}/${key}`));
}

const places = (language: keyof typeof texts): [string, string[]][] =>
  flat(texts[language]).map(([path, text]) => [path, (text.match(/\{\w+\}/g) ?? []).sort()]);

/** The name of the product is the same word in some languages. */
const same = new Set(['/product']);

for (const language of languages) {
  test(`${language} has the texts of English, with the same places to be filled in, and none of them in English`, () => {
    assert.equal(texts[language].language, language);
    assert.deepEqual(Object.fromEntries(places(language)), Object.fromEntries(places('en')));
    const english = new Map(flat(texts.en));
    for (const [path, text] of flat(texts[language])) {
      assert.ok(text !== '' && text === text.trim(), path);
      if (language !== 'en' && !same.has(path)) assert.notEqual(text, english.get(path), path);
    }
  });
}
