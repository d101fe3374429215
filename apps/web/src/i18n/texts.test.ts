import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backendConditions } from '@station/protocol/backend-conditions';
import { cloudConditions } from '@station/protocol/cloud-conditions';
import { conditions } from '@station/protocol/conditions';
import { errorCodes } from '@station/protocol/errors';
import { first as en } from './en/first.ts';
import { later as laterEn } from './en/later.ts';
import { later as laterUk } from './uk/later.ts';
import { first as uk } from './uk/first.ts';
import { preferredLanguage, localeFor } from './i18n.ts';

type Texts = { readonly [key: string]: string | Texts };

function flatten(texts: Texts, prefix = ''): Map<string, string> {
  const flat = new Map<string, string>();
  for (const [key, value] of Object.entries(texts)) {
    if (typeof value === 'string') flat.set(prefix + key, value);
    else for (const [inner, text] of flatten(value, `${prefix}${key}.`)) flat.set(inner, text);
  }
  return flat;
}

const plural = /_(zero|one|two|few|many|other)$/;
const bases = (flat: Map<string, string>): string[] =>
  [...new Set([...flat.keys()].map((key) => key.replace(plural, '')))].sort();
const names = (text: string): string[] =>
  [...new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? ''))].sort();
const [english, ukrainian] = [flatten({ ...en, ...laterEn }), flatten({ ...uk, ...laterUk })];

test('texts that come later replace none of those that are there', () => {
  for (const key of Object.keys(laterEn)) assert.ok(!(key in en), key);
});

test('both languages have the same keys', () => {
  assert.ok(english.size > 200, `saw only ${english.size} texts`);
  assert.deepEqual(bases(ukrainian), bases(english));
});

test('a plural has every form its language needs', () => {
  for (const [language, flat] of [
    ['en', english],
    ['uk', ukrainian],
  ] as const) {
    const wanted = [...new Intl.PluralRules(language).resolvedOptions().pluralCategories].sort();
    const plurals = new Set([...flat.keys()].filter((key) => plural.test(key)).map((key) => key.replace(plural, '')));
    assert.ok(plurals.size > 0);
    for (const base of plurals) {
      const forms = [...flat.keys()].filter((key) => key.replace(plural, '') === base && plural.test(key));
      assert.deepEqual(forms.map((key) => key.slice(base.length + 1)).sort(), wanted, `${language}: ${base}`);
    }
  }
});

test('both languages name the same values in a text', () => {
  const of = (flat: Map<string, string>, base: string): string[] =>
    [
      ...new Set([...flat].filter(([key]) => key.replace(plural, '') === base).flatMap(([, text]) => names(text))),
    ].sort();
  for (const base of bases(english)) assert.deepEqual(of(ukrainian, base), of(english, base), base);
});

test('no text is empty, untrimmed, or left in the other language', () => {
  // Names of settings and of the languages themselves are the same everywhere.
  const same = new Set(['account.languages.en', 'account.languages.uk', 'provisioning.dialog.wifi']);
  for (const [key, text] of [...english, ...ukrainian]) assert.ok(text !== '' && text === text.trim(), key);
  const isUkrainian = (text: string): boolean =>
    /[а-яґєії]/i.test(text) || !/\p{L}/u.test(text.replaceAll(/\{\{\w+\}\}/g, ''));
  for (const [key, text] of ukrainian) assert.ok(same.has(key) || isUkrainian(text), `${key}: ${text}`);
  for (const [key, text] of english) if (!same.has(key)) assert.doesNotMatch(text, /[а-яґєії]/i, key);
});

test('every error code of the station has a sentence with a next step', () => {
  for (const code of Object.keys(errorCodes)) assert.ok(code in en.error, `no sentence for ${code}`);
});

test('every condition of the station has a name and what to do', () => {
  assert.deepEqual(Object.keys(en.condition).sort(), Object.keys(conditions).sort());
});

test('every condition of the backend has a name and what to do; unknown devices have a page of their own', () => {
  const names = laterEn.backendConditionTitle;
  const wanted = Object.keys(backendConditions).filter((id) => id !== 'unknown_devices');
  assert.deepEqual(Object.keys(names).sort(), wanted.sort());
  assert.deepEqual(Object.keys(laterEn.backendCondition).sort(), wanted.sort());
});

test('every condition of the cloud link has a name and what to do', () => {
  const { help: _help, ...names } = en.home.cloud;
  assert.deepEqual(Object.keys(names).sort(), Object.keys(cloudConditions).sort());
  assert.deepEqual(Object.keys(laterEn.cloud.condition).sort(), Object.keys(cloudConditions).sort());
});

test('the reader gets the language the browser asks for, unless another was chosen', () => {
  assert.equal(preferredLanguage(null, ['de-DE', 'uk-UA', 'en']), 'uk');
  assert.equal(preferredLanguage('en', ['uk-UA']), 'en');
  assert.equal(preferredLanguage('xx', ['de']), 'en');
  assert.equal(localeFor('en', ['de-DE', 'en-US']), 'en-US');
  assert.equal(localeFor('en', ['de-DE']), 'en-GB');
  assert.equal(localeFor('uk', ['en-US']), 'uk');
});
