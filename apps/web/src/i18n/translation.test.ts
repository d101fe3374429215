import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createInstance, type TFunction } from 'i18next';
import { languages } from '@station/protocol/languages';
import { textsOf } from '../../testing/texts-of.ts';
import { createTranslation, type Texts } from './translation.ts';

const plural = /_(zero|one|two|few|many|other)$/;

const keysOf = (texts: Texts, prefix = ''): string[] =>
  Object.entries(texts).flatMap(([key, value]) =>
    typeof value === 'string' ? [prefix + key] : keysOf(value, `${prefix}${key}.`),
  );
type Translate = (key: string, values?: Record<string, unknown>) => string;

describe('the small translation', () => {
  for (const language of languages) {
    test(`says what i18next says, in ${language}`, async () => {
      const texts: Texts = await textsOf(language);
      const i18next = createInstance();
      await i18next.init({
        lng: language,
        resources: { [language]: { translation: texts } },
        fallbackLng: false,
        interpolation: { escapeValue: false },
      });
      const reference = i18next.t as TFunction as unknown as Translate;
      const translation = createTranslation(language);
      translation.add(language, texts);
      const small = translation.t as unknown as Translate;
      const keys = new Set(keysOf(texts).map((key) => key.replace(plural, '')));
      assert.ok(keys.size > 200);
      const named = JSON.stringify(texts).matchAll(/\{\{(\w+)\}\}/g);
      const values = Object.fromEntries([...named].map(([, name = '']) => [name, `<${name} & {{more}}>`]));
      for (const key of keys) {
        for (const count of [0, 1, 2, 5, 21, 1.5]) {
          const all = { ...values, count };
          assert.equal(small(key, all), reference(key, all), key);
          assert.equal(small(key, { count, replace: all }), reference(key, { count, replace: all }), key);
        }
      }
      for (const key of ['device', 'device.capability.unknown', 'none', 'a.b:c', 'device.name.x.y']) {
        assert.equal(small(key, { defaultValue: 'as it is' }), reference(key, { defaultValue: 'as it is' }), key);
      }
      assert.equal(small('not.there'), 'not.there');
    });
  }

  test('shows another language to everyone who listens, with a new function', () => {
    const translation = createTranslation('en');
    translation.add('en', { hello: 'Hello {{name}}' });
    translation.add('uk', { hello: 'Вітаю, {{name}}' });
    const before = translation.t as unknown as Translate;
    const told: string[] = [];
    const stop = translation.subscribe(() => told.push(translation.language));
    translation.change('uk');
    stop();
    translation.change('en');
    assert.deepEqual(told, ['uk']);
    assert.notEqual(translation.t, before);
    assert.equal(before('hello', { name: 'Ada' }), 'Hello Ada');
    assert.ok(translation.has('uk', 'hello'));
    assert.ok(!translation.has('uk', 'later'));
  });
});
