import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type DeviceType, readDeviceType } from '@station/protocol/device-types';
import type { AnnouncedDevice } from '../gateways/dialect.ts';
import { describeShelly } from '../gateways/shelly/shelly-device-decide.ts';
import { shellyInfo } from '../../testing/gateways/shelly-answers.ts';
import { describeTasmota } from '../gateways/tasmota/tasmota-device-decide.ts';
import { tasmotaConfig } from '../../testing/gateways/tasmota-announcements.ts';
import { takenWell } from '../../testing/gateways/announced.ts';
import { describe } from '../gateways/zigbee2mqtt/describe-decide.ts';
import { announcement, colourLamp, thermostat } from '../../testing/gateways/announcements.ts';
import { homeAssistant } from './home-assistant-decide.ts';
import type { House } from './picture.ts';
import { zigbee2mqtt } from './zigbee2mqtt-decide.ts';

const shutter = {
  model: 'Shutter',
  vendor: 'Somebody',
  exposes: [
    {
      type: 'cover',
      features: [{ type: 'enum', name: 'state', property: 'state', access: 3, values: ['OPEN', 'CLOSE', 'STOP'] }],
    },
  ],
};
const mac = 'A4CF1249A3BC';

const covers: Readonly<Record<string, AnnouncedDevice | null>> = {
  zigbee: describe(announcement({ definition: shutter })),
  tasmota: describeTasmota(mac, tasmotaConfig({ rl: [3, 3], sho: [0] }), {}, 'tasmota'),
  shelly: describeShelly('shelly/blind', {
    info: shellyInfo(),
    config: {},
    status: { 'cover:0': { id: 0, state: 'stopped', current_pos: 40 } },
  }),
};

function typeOf(announced: AnnouncedDevice | null | undefined): DeviceType {
  const { firmwareVersion: _version, chip: _chip, ...words } = takenWell(announced ?? null).words;
  const read = readDeviceType(JSON.parse(JSON.stringify(words)));
  assert.ok(read.kind === 'ok');
  return read.deviceType;
}

function houseWith(type: DeviceType): House {
  const device = { id: 'one', name: 'Blind', typeName: type.type, type, zone: null, isOnline: true };
  const devices = [{ ...device, state: {}, firmwareVersion: null, dialect: null }];
  return { stationId: 'S', stationName: 'Home', version: '0', devices };
}

/** By gateway: the word of a cover, what Home Assistant takes it for, and what it is in Zigbee2MQTT's dialect. */
const words: readonly [gateway: string, word: string, state: string, text: string][] = [
  ['zigbee', 'CLOSE', 'closed', 'CLOSE'],
  ['zigbee', 'OPEN', 'open', 'OPEN'],
  ['tasmota', 'opening', 'opening', 'OPEN'],
  ['tasmota', 'stopped', 'stopped', 'STOP'],
  ['shelly', 'closing', 'closing', 'CLOSE'],
  ['shelly', 'closed', 'closed', 'CLOSE'],
];

for (const [gateway, word, state, text] of words) {
  test(`other systems know what ${word} of a cover of ${gateway} is`, () => {
    const type = typeOf(covers[gateway]);
    const key = type.capabilities.find(({ values }) => values?.includes(word))?.key ?? '';
    const inHome = homeAssistant.draw(houseWith(type), 'homeassistant');
    const config = JSON.parse(inHome.fixed(() => ({})).at(0)?.payload ?? '{}') as {
      components: Record<string, object>;
    };
    const cover = config.components['cover-cover'] as Record<string, unknown> | undefined;
    assert.equal(cover?.['value_template'], `{{ value_json['${key}'] }}`);
    assert.equal(cover[`state_${state}`], word);
    assert.equal(
      (JSON.parse(inHome.state('one', { [key]: word })?.payload ?? '{}') as Record<string, unknown>)[key],
      word,
    );
    const asZigbee = zigbee2mqtt.draw(houseWith(type), 'z').state('one', { [key]: word });
    assert.equal((JSON.parse(asZigbee?.payload ?? '{}') as Record<string, unknown>)['state'], text);
  });
}

const heaters: Readonly<Record<string, AnnouncedDevice | null>> = {
  zigbee: describe(announcement({ definition: thermostat })),
  shelly: describeShelly('shelly/heater', {
    info: shellyInfo(),
    config: {},
    status: { 'thermostat:0': { target_C: 20, current_C: 19.5, output: true } },
  }),
};

test('a thermostat is one thing in other systems, with its target, temperature and mode', () => {
  const type = typeOf(heaters['zigbee']);
  const inHome = homeAssistant.draw(houseWith(type), 'homeassistant');
  const { components } = JSON.parse(inHome.fixed(() => ({})).at(0)?.payload ?? '{}') as {
    components: Record<string, Record<string, unknown>>;
  };
  const { 'climate-climate': climate = {}, ...others } = components;
  assert.deepEqual(
    [climate['modes'], climate['min_temp'], climate['max_temp'], climate['temp_step'], climate['temperature_unit']],
    [['off', 'auto', 'heat'], 5, 35, 0.5, 'C'],
  );
  assert.deepEqual(
    ['temperature_state', 'current_temperature', 'mode_state'].map((name) => climate[`${name}_template`]),
    ['occupied_heating_setpoint', 'local_temperature', 'system_mode'].map((key) => `{{ value_json['${key}'] }}`),
  );
  assert.equal(JSON.stringify(others).includes('setpoint'), false);
  const ask = (topic: unknown, payload: string) => inHome.read(String(topic), payload);
  const command = { kind: 'command', deviceId: 'one' };
  assert.deepEqual(ask(climate['temperature_command_topic'], '21.5'), [
    { ...command, action: 'set_occupied_heating_setpoint', params: { occupied_heating_setpoint: 21.5 } },
  ]);
  assert.deepEqual(ask(climate['mode_command_topic'], 'heat'), [
    { ...command, action: 'set_system_mode', params: { system_mode: 'heat' } },
  ]);
  assert.equal(ask(climate['mode_command_topic'], 'party'), null);
  const asZigbee = zigbee2mqtt.draw(houseWith(type), 'z');
  const state = { occupied_heating_setpoint: 21, local_temperature: 19.5, system_mode: 'auto' };
  assert.deepEqual(JSON.parse(asZigbee.state('one', state)?.payload ?? ''), state);
  assert.deepEqual(asZigbee.read('z/Blind/set', '{"occupied_heating_setpoint":22}'), [
    { ...command, action: 'set_occupied_heating_setpoint', params: { occupied_heating_setpoint: 22 } },
  ]);
});

test('a thermostat without a mode heats', () => {
  const inHome = homeAssistant.draw(houseWith(typeOf(heaters['shelly'])), 'homeassistant');
  const text = inHome.fixed(() => ({})).at(0)?.payload ?? '{}';
  const { components } = JSON.parse(text) as { components: Record<string, Record<string, unknown>> };
  const climate = components['climate-climate'] ?? {};
  assert.deepEqual([climate['modes'], climate['mode_command_topic']], [['heat'], undefined]);
});

test('what a thermostat does is told in the words of Home Assistant', () => {
  const type: DeviceType = {
    type: 'heater',
    category: 'actuator',
    icon: 'thermostat',
    capabilities: [
      { key: 'target_temperature', kind: 'number', unit: '°F', min: 40, max: 90, step: 1 },
      { key: 'running_state', kind: 'enum', values: ['idle', 'heat', 'thinking'] },
    ],
    commands: [
      {
        action: 'set_target',
        params: { type: 'object', properties: { target_temperature: { type: 'number' } } },
        confirmedBy: ['target_temperature'],
        repeatable: true,
      },
    ],
    events: [],
  };
  const inHome = homeAssistant.draw(houseWith(type), 'homeassistant');
  const told = (running_state: string) =>
    (JSON.parse(inHome.state('one', { running_state })?.payload ?? '{}') as Record<string, unknown>)['running_state'];
  assert.deepEqual(['idle', 'heat', 'thinking'].map(told), ['idle', 'heating', null]);
});

type Components = Record<string, Record<string, unknown>>;
const componentsOf = (type: DeviceType): Components => {
  const text =
    homeAssistant
      .draw(houseWith(type), 'homeassistant')
      .fixed(() => ({}))
      .at(0)?.payload ?? '{}';
  return (JSON.parse(text) as { components: Components }).components;
};

test('the colour of a lamp and the temperature of its white are part of it in other systems', () => {
  const type = typeOf(describe(announcement({ definition: colourLamp })));
  const { 'light-on': lamp = {} } = componentsOf(type);
  assert.deepEqual(
    [lamp['min_mireds'], lamp['max_mireds'], lamp['color_temp_value_template'], lamp['hs_value_template']],
    [153, 500, "{{ value_json['color_temp'] }}", "{{ value_json['color:hs'] }}"],
  );
  const inHome = homeAssistant.draw(houseWith(type), 'homeassistant');
  const state = { on: true, brightness: 50, color_temp: 300, 'color.hue': 120, 'color.saturation': 80 };
  const told = (of: Record<string, boolean | number>): Record<string, unknown> =>
    JSON.parse(inHome.state('one', of)?.payload ?? '{}') as Record<string, unknown>;
  assert.deepEqual([told(state)['color:hs'], told(state)['color_temp']], ['120,80', 300]);
  // Texts that Home Assistant passes over.
  assert.deepEqual([told({ on: true })['color:hs'], told({ on: true })['color_temp']], ['', '']);
  const command = { kind: 'command', deviceId: 'one', action: 'set_color_hs' };
  const green = { ...command, params: { 'color.hue': 120, 'color.saturation': 80 } };
  assert.deepEqual(inHome.read(String(lamp['hs_command_topic']), '120,80'), [green]);
  for (const wrong of ['120', '120,green', '', '1,2,3'])
    assert.equal(inHome.read(String(lamp['hs_command_topic']), wrong), null, wrong);

  const asZigbee = zigbee2mqtt.draw(houseWith(type), 'z');
  assert.deepEqual(JSON.parse(asZigbee.state('one', state)?.payload ?? ''), {
    state: 'ON',
    brightness: 127,
    color_temp: 300,
    color: { hue: 120, saturation: 80 },
  });
  assert.deepEqual(asZigbee.read('z/Blind/set', '{"color":{"hue":120,"saturation":80}}'), [green]);
  for (const wrong of [{ hue: 120 }, { hue: 120, saturation: true }, 'green', null, [120, 80]])
    assert.equal(asZigbee.read('z/Blind/set', JSON.stringify({ color: wrong })), null);
});

test('the white of a lamp is in mireds for every other system', () => {
  const status = { 'cct:0': { id: 0, output: true, brightness: 40, ct: 4000 } };
  const type = typeOf(describeShelly('shelly/lamp', { info: shellyInfo(), config: {}, status }));
  const key = type.capabilities.find(({ unit }) => unit === 'K')?.key ?? '';
  const [lamp = {}] = Object.values(componentsOf(type)).filter(({ platform }) => platform === 'light');
  assert.deepEqual([lamp['min_mireds'], lamp['max_mireds'], lamp['color_temp_kelvin']], [154, 370, undefined]);
  const inHome = homeAssistant.draw(houseWith(type), 'homeassistant');
  const told = JSON.parse(inHome.state('one', { [key]: 4000 })?.payload ?? '{}') as Record<string, unknown>;
  assert.equal(told[key], 250);
  const topic = String(lamp['color_temp_command_topic']);
  const [ofHome] = inHome.read(topic, '200') ?? [];
  assert.deepEqual(ofHome?.kind === 'command' ? Object.values(ofHome.params) : [], [5000]);
  for (const wrong of ['0', '-1', 'warm', '']) assert.equal(inHome.read(topic, wrong), null, wrong);

  const asZigbee = zigbee2mqtt.draw(houseWith(type), 'z');
  const shown = JSON.parse(asZigbee.state('one', { [key]: 4000 })?.payload ?? '{}') as Record<string, unknown>;
  assert.equal(shown['color_temp'], 250);
  const [asked] = asZigbee.read('z/Blind/set', '{"color_temp":200}') ?? [];
  assert.deepEqual(asked?.kind === 'command' ? Object.values(asked.params) : [], [5000]);
});
