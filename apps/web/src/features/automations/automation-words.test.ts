import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstance, type TFunction } from 'i18next';
import type { RunSummary } from '@station/protocol/automations';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import type { DeviceType } from '@station/protocol/device-types';
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
  device('4', 'light', 'Lamp'),
  device('5', 'switch-pir', 'Button'),
  device('6', 'fan', 'Fan'),
];

const fan: DeviceType = {
  type: 'fan',
  category: 'actuator',
  capabilities: [
    {
      key: 'mode',
      kind: 'enum',
      values: ['auto', 'high'],
      names: { en: 'Mode', uk: 'Режим' },
      valueNames: { auto: { en: 'Auto', uk: 'Авто' } },
    },
  ],
  commands: [
    {
      action: 'set_mode',
      params: { type: 'object', properties: { mode: { type: 'string' } } },
      confirmedBy: ['mode'],
      repeatable: true,
    },
    { action: 'clean', confirmedBy: [], repeatable: true, names: { en: 'Clean filter', uk: 'Очистити фільтр' } },
  ],
  events: [],
};

async function around(language: 'en' | 'uk'): Promise<Surroundings> {
  const i18n = createInstance();
  const translation = language === 'en' ? { ...en, ...laterEn } : { ...uk, ...laterUk };
  await i18n.init({ lng: language, resources: { [language]: { translation } }, interpolation: { escapeValue: false } });
  const types = new Map([...builtInDeviceTypes, fan].map((type) => [type.type, type] as const));
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

const evening: Sentence = {
  triggers: [
    { kind: 'device_event_received', config: { deviceId: '5', action: 'button_press' } },
    { kind: 'device_state_changed', config: { deviceId: '6', capability: 'mode', operator: 'eq', value: 'high' } },
  ],
  conditions: [{ kind: 'state_equals', config: { deviceId: '6', capability: 'mode', value: 'auto' } }],
  actions: [
    { kind: 'device_command', config: { deviceId: '4', action: 'toggle' } },
    { kind: 'device_command', config: { deviceId: '4', action: 'turn_off' } },
    { kind: 'device_command', config: { deviceId: '6', action: 'set_mode', params: { mode: 'auto' } } },
    { kind: 'device_command', config: { deviceId: '6', action: 'clean' } },
    { kind: 'device_command', config: { deviceId: 'gone', action: 'turn_on' } },
  ],
};

test('types of the field and types from files read just as well, in both languages', async () => {
  assert.equal(
    plain(sentenceWords(await around('en'), evening)),
    'When the button of Button is pressed or Fan: mode becomes “high”, only if Fan: mode is “Auto” → toggle Lamp, turn off Lamp, Fan: set mode to “Auto”, Fan: clean filter, turn on a removed device',
  );
  assert.equal(
    plain(sentenceWords(await around('uk'), evening)),
    'Коли натиснуто кнопку «Button» або «Fan»: режим змінюється на «high», лише якщо «Fan»: режим дорівнює «Авто» → перемкнути «Lamp», вимкнути «Lamp», «Fan»: задати режим «Авто», «Fan»: очистити фільтр, увімкнути «вилучений пристрій»',
  );
});

test('a light is offered once to be turned on, and its button by its name', async () => {
  const english = await around('en');
  const triggers = triggerOptions(english, '4').map((one) => plain(briefWords(english, one)));
  assert.deepEqual(
    triggers.filter((words) => words.includes('turned on')),
    ['is turned on'],
  );
  assert.deepEqual(
    actionOptions(english, '6').map((one) => plain(briefWords(english, one))),
    ['set mode to “Auto”', 'set mode to “high”', 'clean filter', 'restart'],
  );
  assert.ok(triggerOptions(english, '5').some((one) => briefWords(english, one) === 'its button is pressed'));
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
