import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createInstance, type TFunction } from 'i18next';
import type { RunSummary, StepSeen } from '@station/protocol/automations';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import type { Language } from '@station/protocol/languages';
import { deviceTypesOf } from '../../api/devices.ts';
import { textsOf } from '../../../testing/texts-of.ts';
import { briefWords, sentenceWords, wayWords } from './automation-words.ts';
import { seenWords, startedWords } from './run-words.ts';
import type { Surroundings } from './automations.ts';
import { actionOptions, conditionOptions, triggerOptions } from './options.ts';
import { flowOf, type Sentence, waysOf } from './sentence.ts';

const device = (id: string, type: string, name: string): Device =>
  ({ id, type, name, externalId: `${type}-${id}`, zoneId: 'z', state: {} }) as unknown as Device;
const devices = [
  device('1', 'light', 'Hall light'),
  device('2', 'switch-pir', 'Hall switch'),
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

async function around(language: Language): Promise<Surroundings> {
  const i18n = createInstance();
  const translation = await textsOf(language);
  await i18n.init({ lng: language, resources: { [language]: { translation } }, interpolation: { escapeValue: false } });
  const types = deviceTypesOf([...builtInDeviceTypes, fan]);
  return {
    t: i18n.t,
    locale: language === 'en' ? 'en-GB' : language,
    devices,
    types,
    zones: [{ id: 'z', name: 'Hall' }],
    scenes: [{ id: 's', name: 'Film night', commands: [] }],
    hasPlace: true,
  };
}

const plain = (text: string): string => text.replaceAll('\u00a0', ' ');

const light = (isOn: boolean) =>
  ({ kind: 'device_command', config: { deviceId: '1', action: isOn ? 'turn_on' : 'turn_off' } }) as const;

const hall: Sentence = {
  triggers: [{ kind: 'device_event_received', config: { deviceId: '2', action: 'motion_detected' } }],
  conditions: [],
  actions: [light(true), { kind: 'delay', config: { seconds: 120 } }, light(false)],
  otherwise: [],
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
    { kind: 'state_equals', config: { deviceId: '1', capability: 'on', value: false } },
  ],
  actions: [
    { kind: 'device_command', config: { deviceId: '1', action: 'set_brightness', params: { brightness: 40 } } },
    { kind: 'notify', config: { message: 'Warm' } },
  ],
  otherwise: [],
};

test('a sentence reads as a person would write it', async () => {
  const english = await around('en');
  assert.equal(
    plain(sentenceWords(english, hall)),
    'When Hall switch detects motion → turn on Hall light, wait 2 min, turn off Hall light',
  );
  assert.equal(
    plain(sentenceWords(english, heat)),
    'When Balcony: temperature rises above 25.0 °C or it is 07:00, on workdays, only if it is between 22:00 and 06:00 and Hall light is off → Hall light: set brightness to 40 %, add “Warm” to the activity',
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
    'Коли «Balcony»: температура стає вище 25,0 °C або настає 07:00, у будні, лише якщо зараз між 22:00 і 06:00 і «Hall light» вимкнено → «Hall light»: задати яскравість 40 %, додати в події «Warm»',
  );
});

test('and in German, with its nouns', async () => {
  const german = await around('de');
  assert.equal(
    plain(sentenceWords(german, hall)),
    'Wenn Hall switch Bewegung erkennt → Hall light einschalten, 2 min warten, Hall light ausschalten',
  );
  assert.equal(
    plain(sentenceWords(german, heat)),
    'Wenn Balcony: Temperatur über 25,0 °C steigt oder es 07:00 Uhr ist, werktags, nur falls es zwischen 22:00 und 06:00 ist und Hall light aus ist → Hall light: Helligkeit auf 40 % stellen, „Warm“ zur Aktivität hinzufügen',
  );
  assert.equal(
    plain(sentenceWords(german, dusk)),
    'Wenn ein Gerät in Hall Bewegung zu erkennen beginnt oder es 30 min vor Sonnenuntergang ist, täglich: falls es zwischen Sonnenuntergang und 15 min nach Sonnenaufgang ist → alles in Hall einschalten, warten, bis Hall switch keine Bewegung erkennt (nach 10 min abbrechen), „entfernter Bereich“ ausschalten; sonst → alles in Hall: Helligkeit auf 5 % stellen',
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
  otherwise: [],
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
  const brief = async (language: Language, id: string): Promise<string[]> => {
    const words = await around(language);
    const options = [triggerOptions(words, id), conditionOptions(words, id), actionOptions(words, id)].flat();
    return options.map((one) => plain(briefWords(words, one)));
  };
  const english = [...(await brief('en', '1')), ...(await brief('en', '2'))];
  for (const clause of ['detects motion', 'its button is pressed', 'is turned on', 'is on', 'goes offline', 'turn off'])
    assert.ok(english.includes(clause), `${clause}: ${english.join('; ')}`);
  assert.ok((await brief('en', '3')).includes('temperature rises above 23.0 °C'));
  const ukrainian = [...(await brief('uk', '1')), ...(await brief('uk', '2'))];
  for (const clause of ['помічає рух', 'натиснуто кнопку', 'вмикається', 'увімкнено', 'зникає зі зв’язку', 'вимкнути'])
    assert.ok(ukrainian.includes(clause), `${clause}: ${ukrainian.join('; ')}`);
  assert.ok((await brief('uk', '3')).includes('температура стає вище 23,0 °C'));
});

const i18n = createInstance();
await i18n.init({ lng: 'en', resources: { en: { translation: await textsOf('en') } }, fallbackLng: false });
const t = i18n.t as TFunction;

test('"Run now" does not claim to have started what was skipped', () => {
  const run = (status: RunSummary['status'], reason: RunSummary['reason'] = null) => ({ status, reason }) as RunSummary;
  assert.equal(startedWords(t, run('running')), 'Started. It appears below.');
  assert.equal(startedWords(t, run('completed')), 'Started. It appears below.');
  assert.equal(startedWords(t, run('skipped', 'already_running')), 'Not started. The previous run had not ended.');
  assert.equal(startedWords(t, run('skipped')), 'Not started.');
});

const dusk: Sentence = {
  triggers: [
    { kind: 'zone_state_changed', config: { zoneId: 'z', capability: 'motion', operator: 'eq', value: true } },
    { kind: 'schedule', config: { sun: { event: 'sunset', offsetMinutes: -30 } } },
  ],
  conditions: [
    { kind: 'time_range', config: { from: { event: 'sunset' }, to: { event: 'sunrise', offsetMinutes: 15 } } },
  ],
  actions: [
    { kind: 'zone_command', config: { zoneId: 'z', action: 'turn_on' } },
    {
      kind: 'wait_until',
      config: {
        until: { kind: 'state_equals', config: { deviceId: '2', capability: 'motion', value: false } },
        seconds: 600,
      },
      goesOn: false,
    },
    { kind: 'zone_command', config: { zoneId: 'gone', action: 'turn_off' } },
  ],
  otherwise: [{ kind: 'zone_command', config: { zoneId: 'z', action: 'set_brightness', params: { brightness: 5 } } }],
};

test('zones, the sun, waits and what is done otherwise read well in both languages', async () => {
  assert.equal(
    plain(sentenceWords(await around('en'), dusk)),
    'When any device in Hall starts detecting motion or it is 30 min before sunset, every day: if it is between sunset and 15 min after sunrise → turn on everything in Hall, wait until Hall switch detects no motion (stop after 10 min), turn off a removed zone; otherwise → everything in Hall: set brightness to 5 %',
  );
  assert.equal(
    plain(sentenceWords(await around('uk'), dusk)),
    'Коли будь-який пристрій у зоні «Hall» починає бачити рух або до заходу сонця лишається 30 хв, щодня: якщо зараз між заходом сонця і часом через 15 хв після сходу сонця → увімкнути все в зоні «Hall», чекати на умову: «Hall switch» не бачить руху (через 10 хв зупинитися), вимкнути «вилучена зона»; інакше → все в зоні «Hall»: задати яскравість 5 %',
  );
});

test('what a step saw is told in the language of the reader', async () => {
  const english = await around('en');
  const ukrainian = await around('uk');
  const warm = {
    kind: 'numeric_compare',
    config: { deviceId: '3', capability: 'temperature', operator: 'gt', value: 25 },
  } as const;
  const devicesSeen = {
    devices: [
      { deviceId: '1', status: 'done' },
      { deviceId: '4', status: 'offline' },
    ],
  } as const;
  const rows = [
    [warm, { value: 21.5 }, 'it was 21.5 °C', 'було 21,5 °C'],
    [warm, { value: null }, 'no value was known', 'значення було невідоме'],
    [
      dusk.conditions[0],
      { time: '17:00', weekday: 'mon', from: '15:56' },
      'it was Mon 17:00, the range began at 15:56',
      'було 17:00, пн, проміжок починався о 15:56',
    ],
    [dusk.actions[0], devicesSeen, '1 of 2 devices, Lamp is offline', 'пристроїв: 1 з 2, «Lamp» не на зв’язку'],
  ] as const;
  for (const [data, seen, en, uk] of rows) {
    assert.deepEqual(
      [english, ukrainian].map((one) => plain(seenWords(one, data, seen as unknown as StepSeen) ?? '')),
      [en, uk],
    );
  }
});

test('a scene is called by its name, and one that is gone says so', async () => {
  const run = (sceneId: string) => ({ kind: 'scene', config: { sceneId } }) as const;
  const sentence = { ...hall, actions: [run('s'), run('gone')] };
  assert.equal(
    plain(sentenceWords(await around('en'), sentence)),
    'When Hall switch detects motion → run scene “Film night”, run a removed scene',
  );
  assert.equal(
    plain(sentenceWords(await around('uk'), sentence)),
    'Коли «Hall switch» помічає рух → увімкнути сцену «Film night», увімкнути вилучену сцену',
  );
});
