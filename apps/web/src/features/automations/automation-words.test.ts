import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstance, type TFunction } from 'i18next';
import type { RunSummary } from '@station/protocol/automations';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import type { Device } from '@station/protocol/devices';
import { first as en } from '../../i18n/en/first.ts';
import { later as laterEn } from '../../i18n/en/later.ts';
import { first as uk } from '../../i18n/uk/first.ts';
import { later as laterUk } from '../../i18n/uk/later.ts';
import { briefWords, sentenceWords, startedWords, wayWords } from './automation-words.ts';
import type { Surroundings } from './automations.ts';
import { actionOptions, conditionOptions, triggerOptions } from './options.ts';
import { flowOf, type Sentence, waysOf } from './sentence.ts';

const device = (id: string, type: string, name: string): Device =>
  ({ id, type, name, externalId: `${type}-${id}`, state: {} }) as Device;
const devices = [
  device('1', 'light-v1', 'Hall light'),
  device('2', 'switch-pir-v1', 'Hall switch'),
  device('3', 'climate', 'Balcony'),
];

async function around(language: 'en' | 'uk'): Promise<Surroundings> {
  const i18n = createInstance();
  const translation = language === 'en' ? { ...en, ...laterEn } : { ...uk, ...laterUk };
  await i18n.init({ lng: language, resources: { [language]: { translation } }, interpolation: { escapeValue: false } });
  const types = new Map(builtInDeviceTypes.map((type) => [type.type, type] as const));
  return { t: i18n.t, locale: language === 'en' ? 'en-GB' : 'uk', devices, types };
}

const plain = (text: string): string => text.replaceAll('\u00a0', ' ');

const light = (power: boolean) =>
  ({ kind: 'device_command', config: { deviceId: '1', action: 'set_power', params: { power } } }) as const;

const hall: Sentence = {
  triggers: [{ kind: 'device_event_received', config: { deviceId: '2', action: 'motion_detected' } }],
  conditions: [],
  actions: [light(true), { kind: 'delay', config: { seconds: 120 } }, light(false)],
};
const heat: Sentence = {
  triggers: [
    {
      kind: 'device_state_changed',
      config: { deviceId: '3', capability: 'temperature', operator: 'gt', value: 25 },
    },
    { kind: 'schedule', config: { time: '07:00', days: ['mon', 'tue', 'wed', 'thu', 'fri'] } },
  ],
  conditions: [
    { kind: 'time_range', config: { from: '22:00', to: '06:00' } },
    { kind: 'state_equals', config: { deviceId: '1', capability: 'power', value: false } },
  ],
  actions: [
    { kind: 'device_command', config: { deviceId: '1', action: 'set_brightness', params: { brightness: 40 } } },
    { kind: 'notify', config: { message: 'Warm' } },
  ],
};

test('a sentence reads as a person would write it', async () => {
  const english = await around('en');
  assert.equal(
    plain(sentenceWords(english, hall)),
    'When Hall switch detects motion → turn on Hall light, wait 2 min, turn off Hall light',
  );
  assert.equal(
    plain(sentenceWords(english, heat)),
    'When Balcony: temperature rises above 25.0 °C or it is 07:00, on workdays, only if it is between 22:00 and 06:00 and Hall light is off → Hall light: set brightness to 40 %, write “Warm” into the activity',
  );
});

test('and in Ukrainian', async () => {
  const ukrainian = await around('uk');
  assert.equal(
    plain(sentenceWords(ukrainian, hall)),
    'Коли «Hall switch» помічає рух → увімкнути «Hall light», зачекати 2 хв, вимкнути «Hall light»',
  );
  assert.equal(
    plain(sentenceWords(ukrainian, heat)),
    'Коли «Balcony»: температура стає вище 25,0 °C або настає 07:00, у будні, лише якщо зараз між 22:00 і 06:00 і «Hall light» вимкнено → «Hall light»: задати яскравість 40 %, записати в події «Warm»',
  );
});

test('a removed device and an unknown part are named as such', async () => {
  const english = await around('en');
  const flow = flowOf({
    ...hall,
    triggers: [{ kind: 'device_status_changed', config: { deviceId: 'gone', status: 'offline' } }],
  });
  flow.nodes[1]!.data.kind = 'sing';
  const [way] = waysOf(flow, 5);
  assert.equal(
    plain(wayWords(english, way ?? [])),
    'When a removed device goes offline → something this page does not know (sing) → wait 2 min → turn off Hall light',
  );
});

test('beside its device a clause does without its name', async () => {
  const brief = async (language: 'en' | 'uk', id: string): Promise<string[]> => {
    const words = await around(language);
    const options = [triggerOptions(words, id), conditionOptions(words, id), actionOptions(words, id)].flat();
    return options.map((one) => plain(briefWords(words, one)));
  };
  const english = await brief('en', '2');
  for (const clause of ['detects motion', 'its button is pressed', 'is turned on', 'is on', 'goes offline', 'turn off'])
    assert.ok(english.includes(clause), `${clause}: ${english.join('; ')}`);
  assert.ok((await brief('en', '3')).includes('temperature rises above 23.0 °C'));
  const ukrainian = await brief('uk', '2');
  for (const clause of ['помічає рух', 'натиснуто кнопку', 'вмикається', 'увімкнено', 'зникає зі зв’язку', 'вимкнути'])
    assert.ok(ukrainian.includes(clause), `${clause}: ${ukrainian.join('; ')}`);
  assert.ok((await brief('uk', '3')).includes('температура стає вище 23,0 °C'));
});

const i18n = createInstance();
await i18n.init({ lng: 'en', resources: { en: { translation: { ...en, ...laterEn } } }, fallbackLng: false });
const t = i18n.t as TFunction;

test('"Run now" does not claim to have started what was skipped', () => {
  const run = (status: RunSummary['status'], reason: RunSummary['reason'] = null) => ({ status, reason }) as RunSummary;
  assert.equal(startedWords(t, run('running')), 'Started. It appears below.');
  assert.equal(startedWords(t, run('completed')), 'Started. It appears below.');
  assert.equal(startedWords(t, run('skipped', 'already_running')), 'Not started. The run before was not over yet.');
  assert.equal(startedWords(t, run('skipped')), 'Not started.');
});
