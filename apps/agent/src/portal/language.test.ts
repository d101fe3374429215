import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pickLanguage } from './language.ts';

const cases: [string | null, string | null, 'en' | 'uk'][] = [
  [null, null, 'en'],
  [null, '', 'en'],
  [null, 'uk-UA,uk;q=0.9,en-US;q=0.8', 'uk'],
  [null, 'en-GB,en;q=0.9,uk;q=0.8', 'en'],
  [null, 'de,uk;q=0.5', 'uk'],
  [null, 'de', 'en'],
  [null, 'en;q=0.3, uk;q=0.7', 'uk'],
  [null, 'UK', 'uk'],
  [null, 'uk;q=0,en;q=0.1', 'en'],
  [null, 'uk;q=2,en;q=0.1', 'en'],
  [null, '*,uk;q=0.5', 'en'],
  [null, 'ukulele', 'en'],
  [null, ',;q=1,;;', 'en'],
  ['uk', 'en', 'uk'],
  ['en', 'uk', 'en'],
  ['fr', 'uk', 'uk'],
];

for (const [chosen, accepted, expected] of cases) {
  test(`chosen ${chosen ?? 'nothing'}, accepted ${accepted ?? 'nothing'}: ${expected}`, () =>
    assert.equal(pickLanguage(chosen, accepted), expected));
}
