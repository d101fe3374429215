import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AnnouncedDevice, Said } from '../dialect.ts';
import { commandPayload } from '../payloads-decide.ts';
import { takenWell } from '../../../testing/gateways/announced.ts';
import { homeAssistant } from './discovery-decide.ts';
import { presencesOf, templatePath } from './discovery-message-decide.ts';
import {
  espHomeMessages,
  thermostat,
  wholeDevice,
  zigbeeMessages,
} from '../../../testing/gateways/discovery-announcements.ts';

const place = { base: 'esphome', discovery: 'homeassistant' };

/** A gateway that takes what is announced as soon as it is. */
function gateway(where: { base: string; discovery: string | null } = place) {
  const memory = homeAssistant.remember();
  const devices = new Map<string, AnnouncedDevice>();
  const known = {
    memory,
    at: (topic: string) => [...devices.values()].filter(({ topics }) => topics.heard.includes(topic)),
    find: (id: string) => devices.get(id),
  };
  const hear = (topic: string, payload: unknown): Said[] => {
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    return [...homeAssistant.read({ ...where, topic, text }, known)];
  };
  const settled = (said: readonly Said[]): Said[] => {
    const all = said.flatMap((one) => (one.kind === 'part' ? [...one.say()] : one.kind === 'refused' ? [] : [one]));
    for (const one of all) {
      if (one.kind === 'device') devices.set(one.device.externalId, takenWell(one.device));
      if (one.kind === 'removed') devices.delete(one.device.externalId);
    }
    return all;
  };
  return {
    memory,
    devices,
    hear,
    announce: (rest: string, payload: unknown) => settled(hear(`${where.discovery ?? where.base}/${rest}`, payload)),
    all: (messages: Readonly<Record<string, unknown>>): AnnouncedDevice => {
      let last: AnnouncedDevice | undefined;
      for (const [rest, payload] of Object.entries(messages))
        for (const one of settled(hear(`${where.discovery ?? where.base}/${rest}`, payload)))
          if (one.kind === 'device') last = one.device;
      assert.ok(last);
      return last;
    },
  };
}

const stateIn = (said: readonly Said[]): unknown =>
  Object.assign({}, ...said.map((one) => (one.kind === 'report' ? one.report.state : {})));
const keysOf = ({ words }: AnnouncedDevice): string[] => words.capabilities.map(({ key }) => String(key));
const written = (device: AnnouncedDevice, command: Record<string, unknown>): unknown => {
  const payload = commandPayload(device.plan, command);
  return payload === null
    ? null
    : homeAssistant.write(device, payload).map(({ topic, payload: text }) => [topic, text]);
};

describe('an ESPHome', () => {
  const station = gateway();
  const device = station.all(espHomeMessages());

  test('is one device of all its components', () => {
    assert.equal(station.devices.size, 1);
    assert.equal(device.externalId, 'home_assistant:a4cf1249a3bc');
    assert.equal(device.name, 'Kitchen');
    assert.equal(device.words.type, 'home_assistant.esp32dev');
    assert.deepEqual(keysOf(device).toSorted(), [
      'action',
      'brightness_ceiling',
      'color_ceiling.b',
      'color_ceiling.g',
      'color_ceiling.r',
      'color_temp_ceiling',
      'delay',
      'effect_ceiling',
      'fan_speed_extractor',
      'ip_address',
      'locked',
      'mode',
      'motion',
      'on_ceiling',
      'on_extractor',
      'on_led',
      'oscillation_extractor',
      'position',
      'temperature',
    ]);
    assert.deepEqual(
      device.words.events.map(({ action }) => action),
      ['doorbell_press', 'doorbell_double_press'],
    );
  });

  test('has a fan whose speeds are whole numbers', () => {
    const speed = device.words.capabilities.find(({ key }) => key === 'fan_speed_extractor');
    assert.equal(speed?.['step'], 1);
  });

  test('says its values each on a topic of its own', () => {
    const say = (end: string, payload: unknown) => stateIn(station.hear(`esphome/kitchen/${end}/state`, payload));
    assert.deepEqual(say('sensor/temperature', '21.5'), { temperature: 21.5 });
    assert.deepEqual(say('sensor/temperature', 'nan'), { temperature: null });
    assert.deepEqual(say('sensor/ip_address', '192.168.1.20'), { ip_address: '192.168.1.20' });
    assert.deepEqual(say('binary_sensor/motion', 'ON'), { motion: true });
    assert.deepEqual(say('cover/blind/position', '40'), { position: 40 });
    assert.deepEqual(say('lock/door', 'LOCKED'), { locked: true });
    assert.deepEqual(say('fan/extractor/oscillation', 'oscillate_off'), { oscillation_extractor: false });
    const lamp = { state: 'ON', brightness: 128, color_mode: 'rgb', color: { r: 255, g: 0, b: 10 }, effect: 'None' };
    assert.deepEqual(say('light/ceiling', lamp), {
      on_ceiling: true,
      brightness_ceiling: 50,
      'color_ceiling.r': 255,
      'color_ceiling.g': 0,
      'color_ceiling.b': 10,
      effect_ceiling: 'None',
    });
  });

  test('a press of a button is an event with the name of the button', () => {
    const [said] = station.hear('esphome/kitchen/event/doorbell/state', { event_type: 'press' });
    assert.equal(said?.kind === 'report' && said.report.event, 'doorbell_press');
  });

  test('is told on the topics that it announced', () => {
    const at = (end: string): string => `esphome/kitchen/${end}/command`;
    const tell = (command: Record<string, unknown>): unknown => written(device, command);
    assert.deepEqual(tell({ action: 'turn_on_ceiling' }), [[at('light/ceiling'), '{"state":"ON"}']]);
    assert.deepEqual(tell({ action: 'turn_off_ceiling' }), [[at('light/ceiling'), '{"state":"OFF"}']]);
    assert.deepEqual(tell({ action: 'set_brightness_ceiling', brightness_ceiling: 50 }), [
      [at('light/ceiling'), '{"state":"ON","brightness":128}'],
    ]);
    const colour = { 'color_ceiling.r': 1, 'color_ceiling.g': 2, 'color_ceiling.b': 3 };
    assert.deepEqual(tell({ action: 'set_color_ceiling', ...colour }), [
      [at('light/ceiling'), '{"state":"ON","color":{"r":1,"g":2,"b":3}}'],
    ]);
    assert.deepEqual(tell({ action: 'turn_on_led' }), [[at('switch/led'), 'ON']]);
    assert.deepEqual(tell({ action: 'lock' }), [[at('lock/door'), 'LOCK']]);
    assert.deepEqual(tell({ action: 'open' }), [[at('cover/blind'), 'OPEN']]);
    assert.deepEqual(tell({ action: 'set_position', position: 30 }), [[at('cover/blind/position'), '30']]);
    assert.deepEqual(tell({ action: 'set_delay', delay: 2.5 }), [[at('number/delay'), '2.5']]);
    assert.deepEqual(tell({ action: 'set_mode', mode: 'Eco' }), [[at('select/mode'), 'Eco']]);
    assert.deepEqual(tell({ action: 'restart' }), [[at('button/restart'), 'PRESS']]);
    assert.deepEqual(tell({ action: 'set_oscillation_extractor', oscillation_extractor: true }), [
      [at('fan/extractor/oscillation'), 'oscillate_on'],
    ]);
    assert.equal(tell({ action: 'factory_reset' }), null);
  });

  test('says whether it is online', () => {
    const status = (text: string) => station.hear('esphome/kitchen/status', text);
    assert.deepEqual(status('offline'), [{ kind: 'available', device, availability: 'offline' }]);
    assert.deepEqual(status('online'), [{ kind: 'available', device, availability: 'online' }]);
    assert.deepEqual(status('perhaps'), []);
  });

  test('with one lamp alone has the usual words, whatever else it has', () => {
    const [topic = '', lamp] = Object.entries(espHomeMessages()).at(0) ?? [];
    const one = gateway().all({
      [topic]: lamp,
      ...pick('switch/kitchen/led/config', 'sensor/kitchen/temperature/config'),
    });
    assert.deepEqual(
      ['on', 'brightness', 'on_led'].filter((key) => !keysOf(one).includes(key)),
      [],
    );
    assert.deepEqual(written(one, { action: 'turn_on' }), [
      ['esphome/kitchen/light/ceiling/command', '{"state":"ON"}'],
    ]);
  });

  test('what it said before it was announced counts', () => {
    const early = gateway();
    assert.deepEqual(early.hear('esphome/kitchen/sensor/temperature/state', '19'), []);
    assert.deepEqual(early.hear('esphome/kitchen/status', 'offline'), []);
    const said = early.announce(
      'sensor/kitchen/temperature/config',
      pick('sensor/kitchen/temperature/config')['sensor/kitchen/temperature/config'],
    );
    assert.deepEqual(stateIn(said), { temperature: 19 });
    assert.ok(said.some((one) => one.kind === 'available' && one.availability === 'offline'));
    assert.equal(early.memory.held.size, 0);
  });

  test('a component that is taken back leaves, and the last one takes the device with it', () => {
    const own = gateway();
    own.all(pick('sensor/kitchen/temperature/config', 'binary_sensor/kitchen/motion/config'));
    own.announce('binary_sensor/kitchen/motion/config', '');
    assert.deepEqual(keysOf(own.devices.get('home_assistant:a4cf1249a3bc')!), ['temperature']);
    const [last] = own.announce('sensor/kitchen/temperature/config', '');
    assert.equal(last?.kind, 'removed');
    assert.deepEqual([own.devices.size, own.memory.announced.size, own.memory.size], [0, 0, 0]);
  });

  test('one that cannot be read any more stays as it was', () => {
    const own = gateway();
    own.all(pick('sensor/kitchen/temperature/config'));
    assert.deepEqual(own.announce('sensor/kitchen/temperature/config', '{'), []);
    assert.equal(own.devices.size, 1);
  });
});

function pick(...topics: readonly string[]): Record<string, unknown> {
  const all = espHomeMessages();
  return Object.fromEntries(topics.map((topic) => [topic, all[topic]]));
}

describe('others that announce themselves so', () => {
  test('Zigbee2MQTT: paths in templates, presses, two topics of availability', () => {
    const station = gateway({ base: 'zigbee2mqtt', discovery: 'homeassistant' });
    const device = station.all(zigbeeMessages);
    assert.equal(device.externalId, 'home_assistant:zigbee2mqtt_0x00158d0001dc126a');
    assert.deepEqual(keysOf(device).toSorted(), ['action', 'battery', 'contact']);
    const state = { battery: 87, contact: false, last_seen: 1 };
    assert.deepEqual(stateIn(station.hear('zigbee2mqtt/button', state)), { battery: 87, contact: true });
    const [pressed] = station.hear('zigbee2mqtt/button/action', 'double');
    assert.equal(pressed?.kind === 'report' && pressed.report.event, 'double');
    const availabilityOf = (topic: string, word: string): unknown =>
      station.hear(`zigbee2mqtt/${topic}`, { state: word }).map((one) => one.kind === 'available' && one.availability);
    assert.deepEqual(availabilityOf('bridge/state', 'offline'), ['offline']);
    assert.deepEqual(availabilityOf('button/availability', 'online'), ['offline']);
    assert.deepEqual(availabilityOf('bridge/state', 'online'), ['online']);
  });

  test('a whole device in one message, with a base topic; what has its platform alone is gone', () => {
    const station = gateway();
    const device = station.all({ 'device/plug-1/config': wholeDevice });
    assert.deepEqual([device.externalId, device.name], ['home_assistant:plug-1', 'Plug']);
    assert.deepEqual(keysOf(device), ['on', 'power']);
    assert.deepEqual(stateIn(station.hear('esphome/plug/state', { relay: 'on', energy: { power: 7 } })), {
      on: true,
      power: 7,
    });
    assert.deepEqual(written(device, { action: 'turn_off' }), [['esphome/plug/set', 'off']]);
    assert.deepEqual(station.hear('esphome/plug/online', 'no'), [
      { kind: 'available', device, availability: 'offline' },
    ]);
  });

  test('a lamp of the basic kind, and a blind that counts the other way', () => {
    const station = gateway();
    const device = station.all({
      'light/lamp/config': {
        name: null,
        command_topic: 'esphome/lamp/set',
        state_topic: 'esphome/lamp/state',
        brightness_command_topic: 'esphome/lamp/level/set',
        brightness_state_topic: 'esphome/lamp/level',
        brightness_scale: 100,
        device: { identifiers: 'lamp' },
      },
      'cover/blind/config': {
        command_topic: 'esphome/blind/set',
        state_topic: 'esphome/blind/state',
        state_open: 'up',
        payload_open: 'raise',
        payload_stop: null,
        position_topic: 'esphome/blind/position',
        set_position_topic: 'esphome/blind/position/set',
        position_open: 0,
        position_closed: 100,
        device: { identifiers: 'lamp' },
      },
    });
    assert.deepEqual(stateIn(station.hear('esphome/lamp/level', '30')), { brightness: 30 });
    assert.deepEqual(written(device, { action: 'set_brightness', brightness: 70 }), [['esphome/lamp/level/set', '70']]);
    assert.deepEqual(stateIn(station.hear('esphome/blind/state', 'up')), { movement: 'open' });
    assert.deepEqual(stateIn(station.hear('esphome/blind/position', '100')), { position: 0 });
    assert.deepEqual(written(device, { action: 'open' }), [['esphome/blind/set', 'raise']]);
    assert.equal(written(device, { action: 'stop' }), null);
    assert.deepEqual(written(device, { action: 'set_position', position: 10 }), [['esphome/blind/position/set', '90']]);
  });
});

describe('water and air', () => {
  const device = { ids: 'pump', name: 'Pump' };
  const at = (component: string, config: object): ReturnType<typeof gateway> & { device: AnnouncedDevice } => {
    const station = gateway();
    return { ...station, device: station.all({ [`${component}/x/main/config`]: { ...config, device } }) };
  };

  test('a valve is opened and closed by words, and stopped where it can be', () => {
    const topics = { stat_t: 'esphome/valve/state', cmd_t: 'esphome/valve/set' };
    const { device: plain, hear } = at('valve', topics);
    assert.equal(plain.words.icon, 'droplets');
    assert.deepEqual(stateIn(hear('esphome/valve/state', 'opening')), { movement: 'opening' });
    assert.deepEqual(written(plain, { action: 'open' }), [['esphome/valve/set', 'OPEN']]);
    assert.equal(written(plain, { action: 'stop' }), null);
    const { device: stoppable } = at('valve', { ...topics, pl_stop: 'HALT', pl_cls: 'SHUT' });
    assert.deepEqual(written(stoppable, { action: 'stop' }), [['esphome/valve/set', 'HALT']]);
    assert.deepEqual(written(stoppable, { action: 'close' }), [['esphome/valve/set', 'SHUT']]);
  });

  test('a valve that reports its position is set to one', () => {
    const topics = { stat_t: 'esphome/valve/state', val_tpl: '{{ value_json.at }}', cmd_t: 'esphome/valve/set' };
    const { device: valve, hear } = at('valve', { ...topics, pos: true });
    assert.deepEqual(stateIn(hear('esphome/valve/state', { at: 30 })), { position: 30 });
    assert.deepEqual(written(valve, { action: 'set_position', position: 75 }), [['esphome/valve/set', '75']]);
    assert.equal(written(valve, { action: 'open' }), null);
  });

  test('a humidifier has a switch, a target and a mode', () => {
    const { device: dry, hear } = at('humidifier', {
      cmd_t: 'esphome/dry/set',
      stat_t: 'esphome/dry/state',
      hum_cmd_t: 'esphome/dry/target/set',
      hum_stat_t: 'esphome/dry/target',
      curr_hum_t: 'esphome/dry/now',
      min_hum: 30,
      max_hum: 80,
      mode_cmd_t: 'esphome/dry/mode/set',
      mode_stat_t: 'esphome/dry/mode',
      modes: ['normal', 'boost'],
    });
    assert.deepEqual(keysOf(dry).toSorted(), ['humidity', 'mode', 'on', 'target_humidity']);
    assert.deepEqual(stateIn(hear('esphome/dry/now', '61.5')), { humidity: 61.5 });
    assert.deepEqual(stateIn(hear('esphome/dry/state', 'OFF')), { on: false });
    const command = { action: 'set_target_humidity', target_humidity: 45 };
    assert.deepEqual(written(dry, command), [['esphome/dry/target/set', '45']]);
    assert.deepEqual(written(dry, { action: 'set_mode', mode: 'boost' }), [['esphome/dry/mode/set', 'boost']]);
    const target = dry.words.capabilities.find(({ key }) => key === 'target_humidity');
    assert.deepEqual([target?.['min'], target?.['max'], target?.['unit']], [30, 80, '%']);
  });

  test('a water heater has the words of a thermostat, and modes of its own', () => {
    const { device: boiler, hear } = at('water_heater', {
      temp_cmd_t: 'esphome/boiler/target/set',
      temp_stat_t: 'esphome/boiler/target',
      curr_temp_t: 'esphome/boiler/now',
      mode_cmd_t: 'esphome/boiler/mode/set',
      mode_stat_t: 'esphome/boiler/mode',
    });
    assert.deepEqual(stateIn(hear('esphome/boiler/now', '48')), { local_temperature: 48 });
    assert.deepEqual(stateIn(hear('esphome/boiler/mode', 'heat_pump')), { system_mode: 'heat_pump' });
    const command = { action: 'set_occupied_heating_setpoint', occupied_heating_setpoint: 55 };
    assert.deepEqual(written(boiler, command), [['esphome/boiler/target/set', '55']]);
  });
});

test('a template that names a value is a path; any other one is none', () => {
  const paths: readonly (readonly [string, readonly string[] | null])[] = [
    ['{{ value_json.state }}', ['state']],
    ["{{value_json['a b']}}", ['a b']],
    ['{{ value_json.a["b"].c }}', ['a', 'b', 'c']],
    ['{{ value }}', []],
    ['{{ value_json }}', []],
    ['{{ value | float(0) }}', []],
    ['{{ value_json.tempc | is_defined }}', ['tempc']],
    ["{{ value_json['rssi']|int }}", ['rssi']],
    ['{{ value_json.power | float | round(1) -}}', ['power']],
    ["{{ value_json.state | default('') }}", ['state']],
    ['{{ value_json.state | lower }}', null],
    ['{{ value_json.a | round(1) * 2 }}', null],
    ['{{ value_json.a | float(value_json.b) | default(states("a")) }}', null],
    ['{{ value_jsons.a }}', null],
    // As EMS-ESP writes them.
    ["{{value_json['outdoortemp'] if value_json['outdoortemp'] is defined else 0}}", ['outdoortemp']],
    [
      "{{value_json['hc1']['mode'] if value_json.hc1 is defined and value_json['hc1']['mode'] is defined else 'auto mode'}}",
      ['hc1', 'mode'],
    ],
    ['{{ value_json.a if value_json.b is defined else 0 }}', null],
    ["{{ value_json.a if value_json.a is defined else value_json['b'] }}", null],
    ['{{ value_json.a if value_json.a > 3 else 0 }}', null],
    ["{{ 'ON' if value_json.a is defined else 'OFF' }}", null],
    ['{{ values }}', null],
    ['{% if value_json.a %}1{% endif %}', null],
    ["{{ value_json['a'] + value_json['b'] }}", null],
    ['{{ value_json[0] }}', null],
    [`{{ value_json${'.a'.repeat(200)} }}`, null],
  ];
  for (const [template, path] of paths) assert.deepEqual(templatePath(template), path, template);
});

test('a template that is too long is not looked at: each "if" may be the one', () => {
  const endless = `{{ ${'a if '.repeat(400_000)}}}`;
  assert.equal(templatePath(endless), null);
  assert.equal(presencesOf({ availability: [{ topic: 'esphome/x/on', value_template: endless }] }), null);
});

test('a sensor is a number by its unit, state class, precision or device class, as in Home Assistant', () => {
  const kinds: readonly (readonly [Record<string, unknown>, string])[] = [
    [{ unit_of_measurement: 'W' }, 'number'],
    [{ state_class: 'measurement' }, 'number'],
    [{ suggested_display_precision: 1 }, 'number'],
    [{ device_class: 'aqi' }, 'number'],
    [{ dev_cla: 'ph' }, 'number'],
    [{ device_class: 'timestamp' }, 'text'],
    [{ device_class: 'date' }, 'text'],
    [{ device_class: 'enum', options: ['dry', 'wet'] }, 'enum'],
    [{}, 'text'],
  ];
  for (const [config, kind] of kinds) {
    const device = gateway().all({
      'sensor/x/config': { ...config, state_topic: 'esphome/x/state', device: { ids: 'x' } },
    });
    assert.deepEqual(
      device.plan.properties.map((property) => property.kind),
      [kind],
      JSON.stringify(config),
    );
  }
});

test('an EMS-ESP: values are read where they are there, and nothing says that they are', () => {
  const station = gateway({ base: 'ems-esp', discovery: 'homeassistant' });
  const entity = (name: string, more: object) => ({
    uniq_id: `boiler_${name}`,
    name,
    stat_t: 'ems-esp/boiler_data',
    val_tpl: `{{value_json['${name}'] if value_json['${name}'] is defined else 0}}`,
    avty: [
      {
        t: 'ems-esp/boiler_data',
        val_tpl: `{{'online' if value_json['${name}'] is defined else 'offline'}}`,
      },
    ],
    avty_mode: 'all',
    dev: { ids: ['ems-esp-boiler'], name: 'ems-esp Boiler', mdl: 'Boiler' },
    ...more,
  });
  const device = station.all({
    'sensor/ems-esp/boiler_outdoortemp/config': entity('outdoortemp', { unit_of_meas: '°C', stat_cla: 'measurement' }),
    'number/ems-esp/boiler_seltemp/config': entity('seltemp', { cmd_t: 'ems-esp/boiler/seltemp', min: 5, max: 80 }),
    'switch/ems-esp/boiler_heating/config': entity('heating', {
      cmd_t: 'ems-esp/boiler/heating',
      pl_on: true,
      pl_off: false,
    }),
  });
  assert.deepEqual(device.plan.presence, []);
  const said = station.hear('ems-esp/boiler_data', { outdoortemp: 8.5, heating: true });
  assert.deepEqual(stateIn(said), { boiler_outdoortemp: 8.5, on: true });
  assert.deepEqual(written(device, { action: 'set_boiler_seltemp', boiler_seltemp: 55 }), [
    ['ems-esp/boiler/seltemp', '55'],
  ]);
});

test('only an off_delay that is a time of up to a week ends a value', () => {
  const given: readonly (readonly [unknown, number | undefined])[] = [
    [30, 30_000],
    [0.5, 500],
    [604_800, 604_800_000],
    [604_801, undefined],
    [0, undefined],
    [-5, undefined],
    ['30', undefined],
    [null, undefined],
  ];
  for (const [offDelay, offAfterMs] of given) {
    const config = { state_topic: 'esphome/x/state', device: { ids: 'x' }, off_delay: offDelay };
    const [property] = gateway().all({ 'binary_sensor/x/config': config }).plan.properties;
    assert.equal(property?.kind === 'boolean' ? property.offAfterMs : null, offAfterMs, String(offDelay));
  }
});

test('a device is silent after the longest expire_after, if each of its components has one', () => {
  const silenceOf = (...waits: readonly unknown[]): number | undefined =>
    gateway().all(
      Object.fromEntries(
        waits.map((wait, nth) => [
          `sensor/x/${nth}/config`,
          { state_topic: `esphome/x/${nth}`, unit_of_measurement: 'W', expire_after: wait, device: { ids: 'x' } },
        ]),
      ),
    ).plan.silentAfterMs;
  assert.equal(silenceOf(600), 600_000);
  assert.equal(silenceOf(600, 3_600, 60), 3_600_000);
  assert.equal(silenceOf(600, undefined), undefined);
  assert.equal(silenceOf(0), undefined);
});

const sensor = { unit_of_measurement: 'W', state_topic: 'esphome/x/state', device: { ids: 'x' } };
const told = { ...sensor, command_topic: 'esphome/x/set' };

test('what computes, is elsewhere, or is of no known kind is not taken', () => {
  const refused: readonly (readonly [string, Record<string, unknown>, reason: string, detail: string])[] = [
    ['sensor', { ...sensor, value_template: '{{ value_json.a * 2 }}' }, 'template', 'value_template'],
    ['number', { ...told, command_template: '{{ value_json.a }}' }, 'template', 'command_template'],
    ['sensor', { ...sensor, avty: [{ t: 'esphome/x/on', val_tpl: '{{ 1 }}' }] }, 'template', 'availability_template'],
    ['light', { ...told, schema: 'template' }, 'template', 'schema'],
    ['sensor', { ...sensor, state_topic: 'other/x/state' }, 'outside', 'other/x/state'],
    ['sensor', { ...sensor, state_topic: 'esphome/+/state' }, 'outside', 'esphome/+/state'],
    ['sensor', { ...sensor, availability_topic: 'other/status' }, 'outside', 'other/status'],
    ['switch', { ...sensor, cmd_t: '$CONTROL/dynamic-security/v1' }, 'outside', '$CONTROL/dynamic-security/v1'],
    ['switch', { ...sensor, cmd_t: 'station/s/device/x/command' }, 'outside', 'station/s/device/x/command'],
    ['siren', sensor, 'kind', 'siren'],
    ['constructor', sensor, 'kind', 'constructor'],
    ['sensor', { device: { ids: 'x' } }, 'incomplete', 'sensor'],
  ];
  const station = gateway();
  for (const [component, config, reason, detail] of refused)
    assert.deepEqual(
      station.hear(`homeassistant/${component}/power/config`, config),
      [
        {
          kind: 'refused',
          source: `homeassistant/${component}/power/config`,
          entries: [{ name: 'x: power', reason, detail }],
        },
      ],
      JSON.stringify(config),
    );
  assert.equal(station.memory.announced.size, 0);
  const good = station.hear('homeassistant/sensor/power/config', sensor).at(-1);
  assert.deepEqual(good, { kind: 'refused', source: 'homeassistant/sensor/power/config', entries: [] });
});

test('what the station tells Home Assistant does not come back', () => {
  const station = gateway();
  assert.deepEqual(station.announce('device/station_home_1234/config', wholeDevice), []);
});

test('a gateway has the tree of its announcements, and none twice', () => {
  assert.deepEqual(homeAssistant.trees(place), ['esphome', 'homeassistant']);
  assert.deepEqual(homeAssistant.trees({ base: 'ha', discovery: 'ha' }), ['ha']);
  assert.deepEqual(homeAssistant.trees({ base: 'ha', discovery: 'ha/found' }), ['ha']);
  assert.deepEqual(homeAssistant.trees({ base: 'ha/esphome', discovery: 'ha' }), ['ha']);
});

test('what is kept of announcements and of messages is bounded', () => {
  const station = gateway();
  for (let at = 0; at < 700; at += 1)
    station.hear(`homeassistant/sensor/s${at}/config`, { ...sensor, device: { ids: `x${at}` } });
  assert.equal(station.memory.announced.size, 500, 'devices');
  for (let at = 0; at < 5_000; at += 1)
    station.hear(`homeassistant/sensor/x/s${at}/config`, { ...sensor, device: { ids: 'x1' } });
  assert.equal(station.memory.announced.size, 4_096, 'announcements');
  const [part] = station.hear('homeassistant/sensor/s1/config', { ...sensor, device: { ids: 'x1' } });
  const [said] = part?.kind === 'part' ? part.say() : [];
  assert.ok(said?.kind === 'device');
  assert.ok(takenWell(said.device).plan.properties.length <= 128);
  for (let at = 0; at < 3_000; at += 1) station.hear(`esphome/t${at}`, 'x');
  assert.equal(station.memory.held.size, 1_024);
  const reasonOf = (id: string, config: unknown): unknown[] =>
    station
      .hear(`homeassistant/sensor/${id}/config`, config)
      .map((one) => one.kind === 'refused' && one.entries[0]?.reason);
  assert.deepEqual(reasonOf('long', { ...sensor, name: 'x'.repeat(70_000) }), ['too_large']);
  assert.deepEqual(reasonOf('odd', '{'), ['incomplete']);
  assert.deepEqual(reasonOf('more', { ...sensor, device: { ids: 'one-more' } }).at(-1), 'no_room');
});

describe('a thermostat', () => {
  const at = (end: string): string => `esphome/hall/climate/heating/${end}`;
  const topic = 'climate/hall/heating/config';

  test('has its target, its temperature, a mode and what it does', () => {
    const station = gateway();
    const heating = station.all({ [topic]: thermostat });
    assert.deepEqual(keysOf(heating), [
      'occupied_heating_setpoint',
      'local_temperature',
      'system_mode',
      'running_state',
      'preset',
    ]);
    const [target] = heating.words.capabilities;
    assert.deepEqual([target?.['unit'], target?.['min'], target?.['max']], ['°C', 5, 30]);
    const odd = gateway().all({ [topic]: { ...thermostat, min_temp: 30, max_temp: 30 } });
    assert.deepEqual([odd.words.capabilities[0]?.['min'], odd.words.capabilities[0]?.['max']], [undefined, undefined]);
    assert.deepEqual(stateIn(station.hear(at('target_temperature/state'), '21.5')), {
      occupied_heating_setpoint: 21.5,
    });
    assert.deepEqual(stateIn(station.hear(at('mode/state'), 'heat')), { system_mode: 'heat' });
    assert.deepEqual(stateIn(station.hear(at('action/state'), 'idle')), { running_state: 'idle' });
    assert.deepEqual(written(heating, { action: 'set_occupied_heating_setpoint', occupied_heating_setpoint: 20 }), [
      [at('target_temperature/command'), '20'],
    ]);
    assert.deepEqual(written(heating, { action: 'set_system_mode', system_mode: 'cool' }), [
      [at('mode/command'), 'cool'],
    ]);
    assert.equal(heating.words.icon, 'heater');
  });

  test('with two targets heats to one and cools to the other', () => {
    const { temp_cmd_t: _cmd, temp_stat_t: _stat, ...rest } = thermostat;
    const two = {
      ...rest,
      temp_lo_cmd_t: at('low/command'),
      temp_lo_stat_t: at('low/state'),
      temp_hi_cmd_t: at('high/command'),
      temp_hi_stat_t: at('high/state'),
    };
    const heating = gateway().all({ [topic]: two });
    assert.deepEqual(keysOf(heating).slice(0, 2), ['occupied_heating_setpoint', 'occupied_cooling_setpoint']);
    assert.deepEqual(written(heating, { action: 'set_occupied_cooling_setpoint', occupied_cooling_setpoint: 26 }), [
      [at('high/command'), '26'],
    ]);
  });
});
