import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { backendConditions } from '@station/protocol/backend-conditions';
import { cloudConditions } from '@station/protocol/cloud-conditions';
import { conditions } from '@station/protocol/conditions';
import { agentFindings } from '@station/protocol/agent-findings';
import { backendFindings } from '@station/protocol/backend-findings';
import { errorCodes } from '@station/protocol/errors';
import { type Language, languages } from '@station/protocol/languages';
import { areas } from './areas.ts';
import { localeFor } from './i18n.ts';
import { preferredLanguage } from './languages.ts';
import { textsOf } from '../../testing/texts-of.ts';

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
const bases = (texts: Map<string, string>): string[] =>
  [...new Set([...texts.keys()].map((key) => key.replace(plural, '')))].sort();
const names = (text: string): string[] =>
  [...new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map((match) => match[1] ?? ''))].sort();
const flat = new Map<Language, Map<string, string>>();
for (const language of languages) flat.set(language, flatten(await textsOf(language)));
const en = await textsOf('en');
const english = flat.get('en')!;
// The station itself says in English what it found.
for (const [code, { message, help }] of Object.entries({ ...backendFindings, ...agentFindings }))
  for (const [key, text] of Object.entries({ message, help }))
    english.set(`finding.${code}.${key}`, text.replaceAll(/\{(\w+)\}/g, '{{$1}}'));
const others = [...flat].filter(([language]) => language !== 'en');

/** Names, and words that a language has in common with English. */
const everywhere = ['Android', 'Broker', 'Home Assistant', 'Linux', 'Mac', 'Wi-Fi', 'Windows'];
const technical = ['1 h', '24 h', '6 h', 'Chip', 'OK', 'Port', 'STARTTLS', 'TLS', 'Token', 'Webhook', 'ntfy'];
const shared: Partial<Record<Language, string[]>> = {
  de: [
    'Person',
    'Details',
    'Administrator',
    'Automation',
    'Backend',
    'Backup',
    'Backups',
    'Cloud',
    'Code',
    'Details',
    'Download',
    'Firmware',
    'Live',
    'Name',
    'Offline',
    'Online',
    'Passkeys',
    'Passphrase',
    'Server',
    'Station',
    'System',
    'Text',
    'Updates',
    'Version',
    'offline',
    'online',
    ...technical,
  ],
  pl: [
    'System',
    'Administrator',
    'Backend',
    'E-mail',
    'Firmware',
    'Offline',
    'Online',
    'firmware {{version}}',
    'offline',
    'online',
    ...technical,
  ],
};
const sameIn = (language: Language): Set<string> => new Set([...everywhere, ...(shared[language] ?? [])]);

test('every file of texts is loaded, with the first page or later', async () => {
  const loaded = [...areas.first, ...areas.later].toSorted();
  for (const language of languages) {
    const files = await readdir(join(import.meta.dirname, language));
    assert.deepEqual(files.map((file) => file.replace(/\.json$/, '')).toSorted(), loaded, language);
  }
});

for (const [language, texts] of flat) {
  test(`${language} has the keys of English, and names the same values in each text`, () => {
    assert.ok(english.size > 200, `saw only ${english.size} texts`);
    assert.deepEqual(bases(texts), bases(english));
    const named = (all: Map<string, string>, base: string): string[] =>
      [
        ...new Set([...all].filter(([key]) => key.replace(plural, '') === base).flatMap(([, text]) => names(text))),
      ].sort();
    for (const base of bases(english)) assert.deepEqual(named(texts, base), named(english, base), base);
  });

  test(`a plural has every form that ${language} needs`, () => {
    const wanted = [...new Intl.PluralRules(language).resolvedOptions().pluralCategories].sort();
    const plurals = new Set([...texts.keys()].filter((key) => plural.test(key)).map((key) => key.replace(plural, '')));
    assert.ok(plurals.size > 0);
    for (const base of plurals) {
      const forms = [...texts.keys()].filter((key) => key.replace(plural, '') === base && plural.test(key));
      assert.deepEqual(forms.map((key) => key.slice(base.length + 1)).sort(), wanted, base);
    }
  });

  test(`no text of ${language} is empty or untrimmed, or has letters of another alphabet`, () => {
    const alien = language === 'uk' ? /[ыэъё]/i : /[а-яґєії]/i;
    for (const [key, text] of texts) {
      assert.ok(text !== '' && text === text.trim(), key);
      assert.doesNotMatch(text, alien, key);
    }
  });
}

for (const [language, texts] of others) {
  test(`no text of ${language} is left in English`, () => {
    for (const [key, text] of texts) {
      const hasWords = /\p{L}/u.test(text.replaceAll(/\{\{\w+\}\}/g, ''));
      if (hasWords && !sameIn(language).has(text)) assert.notEqual(text, english.get(key), key);
    }
  });
}

test('in Ukrainian, a text without Cyrillic letters is a name', () => {
  for (const [key, text] of flat.get('uk')!) {
    const hasWords = /\p{L}/u.test(text.replaceAll(/\{\{\w+\}\}/g, ''));
    assert.ok(!hasWords || sameIn('uk').has(text) || /[а-яґєії]/i.test(text), `${key}: ${text}`);
  }
});

test('every error code of the station has a sentence with a next step', () => {
  for (const code of Object.keys(errorCodes)) assert.ok(code in en.error, `no sentence for ${code}`);
});

test('every condition has what helps; unknown devices have a page of their own', () => {
  const { unknown_devices: _unknown, ...ofBackend } = backendConditions;
  const ids = Object.keys({ ...conditions, ...ofBackend, ...cloudConditions });
  const variants = ['storage_unwritable_locked', 'storage_low_by_database', 'storage_low_by_others'];
  assert.deepEqual(Object.keys(en.conditionHelp).sort(), [...ids, ...variants].sort());
});

test('the reader gets the language the browser asks for, unless another was chosen', () => {
  assert.equal(preferredLanguage(null, ['fr-FR', 'uk-UA', 'en']), 'uk');
  assert.equal(preferredLanguage(null, ['de-CH', 'uk-UA', 'en']), 'de');
  assert.equal(preferredLanguage('en', ['uk-UA']), 'en');
  assert.equal(preferredLanguage('xx', ['fr']), 'en');
  assert.equal(localeFor('en', ['de-DE', 'en-US']), 'en-US');
  assert.equal(localeFor('en', ['de-DE']), 'en-GB');
  assert.equal(localeFor('uk', ['en-US']), 'uk');
  assert.equal(localeFor('de', ['en-US', 'de-AT']), 'de-AT');
});

/** Wordings that were mended once. */
const mended: Partial<Record<Language, RegExp>> = {
  en: /release before|by itself|by hand|[Ll]oad again|[Ll]ast word|[Tt]o look at|[Bb]egun anew|[Tt]urned away|[Pp]resent password|went back from it|ever more seldom/,
  uk: /Сценарії|Параметри(?! →)|Теперішній пароль|друкує|хвилина часу|Словами самої|Додати інший початок|На цю мить|Хай триває|Не пускає/,
};

for (const [language, words] of Object.entries(mended)) {
  test(`the ${language} texts keep what was mended in them`, () => {
    const found = [...(flat.get(language as Language) ?? [])].filter(([, text]) => words.test(text));
    assert.deepEqual(found, []);
  });
}

test('no text for a household names a variable', () => {
  // The doctor speaks to who looks after the machine; who links a cloud edits the file.
  const isForAdmins = (key: string): boolean => /^(finding|doctor|cloud)/.test(key);
  for (const texts of flat.values()) {
    const found = [...texts].filter(([key, text]) => !isForAdmins(key) && /\b[A-Z]+_[A-Z_]+\b/.test(text));
    assert.deepEqual(found, []);
  }
});
