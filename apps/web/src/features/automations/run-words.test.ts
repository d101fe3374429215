import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstance, type TFunction } from 'i18next';
import type { RunSummary } from '@station/protocol/automations';
import { en } from '../../i18n/en.ts';
import { moreEn } from '../../i18n/more-en.ts';
import { startedWords } from './run-words.ts';

const i18n = createInstance();
await i18n.init({ lng: 'en', resources: { en: { translation: { ...en, ...moreEn } } }, fallbackLng: false });
const t = i18n.t as TFunction;

test('"Run now" is not said to have started what was skipped', () => {
  const run = (status: RunSummary['status'], reason: RunSummary['reason'] = null) => ({ status, reason }) as RunSummary;
  assert.equal(startedWords(t, run('running')), 'Started. It appears below.');
  assert.equal(startedWords(t, run('completed')), 'Started. It appears below.');
  assert.equal(startedWords(t, run('skipped', 'already_running')), 'Not started. The run before was not over yet.');
  assert.equal(startedWords(t, run('skipped')), 'Not started.');
});
