import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { languages } from '@station/protocol/languages';
import { conditionWords } from './condition-words.ts';
import { textsOf } from '../../testing/texts-of.ts';
import { createTranslation } from './translation.ts';

describe('the words of a condition', () => {
  for (const language of languages) {
    test(`are in ${language}, with what the condition says`, async () => {
      const texts = await textsOf(language);
      const translation = createTranslation(language);
      translation.add(language, texts);
      const say = (id: string, details: Record<string, unknown> = {}) =>
        conditionWords(translation.t, { id, message: 'In English.', details });
      assert.deepEqual(say('stack_unhealthy'), {
        title: texts.conditionTitle.stack_unhealthy,
        help: texts.conditionHelp.stack_unhealthy,
      });
      assert.ok(say('device_logins_missing', { externalIds: ['lamp-1', 'lamp-2'] }).help.includes('lamp-1, lamp-2'));
      assert.ok(say('storage_unwritable', { reason: 'read_only' }).help.includes('read_only'));
      assert.equal(say('storage_unwritable', { reason: 'locked' }).help, texts.conditionHelp.storage_unwritable_locked);
      assert.deepEqual(say('from_a_newer_station'), { title: 'In English.', help: '' });
    });
  }
});
