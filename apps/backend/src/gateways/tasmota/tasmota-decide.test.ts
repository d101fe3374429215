import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AnnouncedDevice, Said } from '../dialect.ts';
import { commandPayload } from '../payloads-decide.ts';
import { hearingOf, refusedIn, takenWell } from '../../../testing/gateways/announced.ts';
import { tasmota } from './tasmota-decide.ts';
import { describeTasmota } from './tasmota-device-decide.ts';
import { tasmotaConfig, tasmotaSensors, tasmotaState } from '../../../testing/gateways/tasmota-announcements.ts';

const base = 'tasmota';
const mac = 'A4CF1249A3BC';

const described = (config: Record<string, unknown>, sensors: Record<string, unknown> = {}): AnnouncedDevice =>
  takenWell(describeTasmota(mac, tasmotaConfig(config), sensors, base));
const gatewayOf = (device?: AnnouncedDevice) => hearingOf(tasmota, base, device);

const stateOf = (device: AnnouncedDevice, topic: string, payload: unknown): unknown => {
  const [said] = gatewayOf(device)(topic, payload);
  return said?.kind === 'report' ? said.report.state : said;
};
const written = (device: AnnouncedDevice, command: Record<string, unknown>): unknown => {
  const payload = commandPayload(device.plan, command);
  return payload === null ? null : tasmota.write(device, payload).map(({ topic, payload: text }) => [topic, text]);
};
const actionsOf = ({ words }: AnnouncedDevice) => words.commands.map(({ action }) => action);
const keysOf = ({ words }: AnnouncedDevice) => words.capabilities.map(({ key }) => key);
const deviceIn = (said: readonly Said[]) => said.find((one) => one.kind === 'device')?.device;

const discovery = (part: string): string => `tasmota/discovery/${mac}/${part}`;

describe('an announcement of Tasmota', () => {
  test('names the device, its topics and its model', () => {
    const plug = described({});
    assert.equal(plug.externalId, 'tasmota:a4cf1249a3bc');
    assert.equal(plug.name, 'Kitchen lamp');
    assert.deepEqual(plug.topics, {
      heard: ['tele/tasmota_49A3BC', 'stat/tasmota_49A3BC'],
      command: 'cmnd/tasmota_49A3BC',
    });
    assert.equal(plug.words.type, 'tasmota.sonoff-basic');
    assert.equal(plug.words.firmwareVersion, '14.4.1');
    assert.deepEqual(plug.words.primary, { capability: 'on', command: 'toggle' });
    assert.deepEqual(actionsOf(plug), ['turn_on', 'turn_off', 'toggle']);
  });

  test('may have a FullTopic of its own', () => {
    const { topics } = described({ ft: 'tasmota/%topic%/%prefix%/%id%-%hostname%/' });
    assert.equal(topics.command, 'tasmota/tasmota_49A3BC/cmnd/49A3BC-tasmota-49A3BC-0956');
    assert.equal(describeTasmota(mac, tasmotaConfig({ ft: '%topic%/' }), {}, base), null);
    const odd = described({ ft: '%prefix%/%topic%/', t: '%hostname%' });
    assert.equal(odd.topics.command, 'cmnd/%hostname%', 'what is filled in is not filled in again');
  });

  test('whose FullTopic grows with each word that is filled in has a short topic all the same', () => {
    const grown = {
      ft: '%prefix%'.repeat(500),
      tp: Array.from({ length: 3 }, () => '%topic%'.repeat(400)),
      t: '%hostname%'.repeat(300),
      hn: 'x'.repeat(2_000),
    };
    const [topic = ''] = described(grown).topics.heard;
    assert.ok(topic.length <= 256, `${topic.length} characters`);
  });

  test('comes in two parts, in any order', () => {
    const hear = gatewayOf();
    assert.deepEqual(hear(discovery('sensors'), tasmotaSensors), []);
    const whole = deviceIn(hear(discovery('config'), tasmotaConfig()));
    assert.ok(whole?.plan.properties.some(({ key }) => key === 'power'));
    const again = gatewayOf(whole);
    assert.deepEqual(again(discovery('config'), tasmotaConfig({ dn: 'Lamp' })), []);
    assert.equal(deviceIn(again(discovery('sensors'), tasmotaSensors))?.name, 'Lamp');
  });

  test('that is empty removes the device; of another MAC, or too large, it is none', () => {
    const plug = described({});
    assert.deepEqual(gatewayOf(plug)(discovery('config'), '')[0], { kind: 'removed', device: plug });
    assert.deepEqual(gatewayOf(plug)(discovery('sensors'), ''), []);
    assert.deepEqual(gatewayOf()(discovery('config'), ''), [{ kind: 'refused', source: mac, entries: [] }]);
    assert.deepEqual(gatewayOf()('tasmota/discovery/A4CF1249A3BD/config', tasmotaConfig()), []);
    assert.deepEqual(gatewayOf()(discovery('config'), tasmotaConfig({ pad: 'x'.repeat(20_000) })), []);
  });

  test('says what it cannot be taken of: topics elsewhere, or none', () => {
    const refusedOf = (more: Record<string, unknown>) => {
      const hear = gatewayOf();
      hear(discovery('config'), tasmotaConfig(more));
      return refusedIn(hear(discovery('sensors'), tasmotaSensors));
    };
    assert.deepEqual(refusedOf({}), []);
    assert.deepEqual(refusedOf({ ft: 'home/%topic%/%prefix%/' }), [
      { name: 'Kitchen lamp', reason: 'outside', detail: 'home/tasmota_49A3BC/tele' },
    ]);
    assert.deepEqual(refusedOf({ ft: '%topic%' }), [{ name: 'Kitchen lamp', reason: 'incomplete', detail: null }]);
  });

  test('asks for what the device would say later', () => {
    const hear = gatewayOf();
    hear(discovery('config'), tasmotaConfig());
    const said = hear(discovery('sensors'), tasmotaSensors);
    assert.deepEqual(
      said.flatMap((one) => (one.kind === 'question' ? [one.publish] : [])),
      [
        { topic: 'cmnd/tasmota_49A3BC/STATE', payload: '' },
        { topic: 'cmnd/tasmota_49A3BC/STATUS', payload: '10' },
      ],
    );
  });
});

describe('what Tasmota reports', () => {
  const plug = described({}, tasmotaSensors);

  test('is read from every topic that has it', () => {
    assert.deepEqual(stateOf(plug, 'tele/tasmota_49A3BC/STATE', tasmotaState), { on: true, linkquality: 78 });
    assert.deepEqual(stateOf(plug, 'stat/tasmota_49A3BC/RESULT', { POWER: 'OFF' }), { on: false });
    assert.deepEqual(stateOf(plug, 'stat/tasmota_49A3BC/POWER', 'ON'), { on: true });
    assert.deepEqual(stateOf(plug, 'stat/tasmota_49A3BC/STATUS11', { StatusSTS: tasmotaState }), {
      on: true,
      linkquality: 78,
    });
    assert.equal(stateOf(plug, 'stat/tasmota_49A3BC/RESULT', { Command: 'Unknown' }), undefined);
    assert.equal(stateOf(plug, 'stat/tasmota_49A3BC/STATUS5', { StatusNET: { Hostname: 'x' } }), undefined);
    assert.equal(stateOf(plug, 'tele/other/STATE', tasmotaState), undefined);
  });

  test('has the station’s words for what is measured, the first of a kind; any other one its own', () => {
    const measured = {
      energy: 4.217,
      energy_yesterday: 0.4,
      energy_today: 0.312,
      power: 41,
      apparent_power: 55,
      reactive_power: 36,
      power_factor: 0.75,
      voltage: 231,
      current: 0.238,
      temperature: 21.5,
      humidity: 48.2,
      dew_point: 10.1,
      'DS18B20-1.Temperature': 19.1,
      'ODD.Quality': 7,
      'ESP32.Temperature': 53.3,
      // Not announced as numbers.
      'ENERGY.TotalStartTime': '2026-01-01T00:00:00',
      'DS18B20-1.Id': '01144A0CB2AA',
    };
    assert.deepEqual(stateOf(plug, 'tele/tasmota_49A3BC/SENSOR', tasmotaSensors.sn), measured);
    assert.deepEqual(stateOf(plug, 'stat/tasmota_49A3BC/STATUS10', { StatusSNS: tasmotaSensors.sn }), measured);
    const temperature = plug.words.capabilities.find(({ key }) => key === 'temperature');
    assert.equal(temperature?.['unit'], '°C');
  });

  test('a meter of three phases has three values of each', () => {
    const meter = described({ rl: [] }, { sn: { ENERGY: { Voltage: [231, 229.5, 230], Total: 5 } }, ver: 1 });
    assert.deepEqual(stateOf(meter, 'tele/tasmota_49A3BC/SENSOR', { ENERGY: { Voltage: [1, 2, 3], Total: 6 } }), {
      voltage: 1,
      'ENERGY.Voltage.2': 2,
      'ENERGY.Voltage.3': 3,
      energy: 6,
    });
  });

  test('its last will says whether it is online, in its own words', () => {
    const own = described({ onln: 'Da', ofln: 'Weg' });
    const [said] = gatewayOf(own)('tele/tasmota_49A3BC/LWT', 'Weg');
    assert.deepEqual(said, { kind: 'available', device: own, availability: 'offline' });
    assert.equal(gatewayOf(own)('tele/tasmota_49A3BC/LWT', 'Da')[0]?.kind, 'available');
    assert.deepEqual(gatewayOf(own)('tele/tasmota_49A3BC/LWT', 'Online'), []);
  });

  test('a press is an event', () => {
    const buttons = described({ btn: [1, 0], swc: [0, 1], swn: [null, 'Door'], so: { 73: 1, 114: 1 } });
    const [said] = gatewayOf(buttons)('stat/tasmota_49A3BC/RESULT', { Button1: { Action: 'DOUBLE' } });
    assert.equal(said?.kind === 'report' && said.report.event, 'button1_double');
    assert.deepEqual(stateOf(buttons, 'stat/tasmota_49A3BC/RESULT', { Switch2: { Action: 'ON' } }), {
      action: 'switch2_on',
      switch_2: true,
    });
    assert.ok(buttons.words.events.some(({ action }) => action === 'button1_single'));
    assert.deepEqual(described({ btn: [1] }).words.events, []);
  });
});

describe('commands to Tasmota', () => {
  test('a relay has its number, and the words of the device', () => {
    const one = described({ state: ['AUS', 'EIN', 'UM', 'HALT'] });
    assert.deepEqual(written(one, { action: 'turn_on' }), [['cmnd/tasmota_49A3BC/POWER1', 'EIN']]);
    const two = described({ rl: [1, 1], fn: ['Left', 'Right'] });
    assert.deepEqual(written(two, { action: 'turn_off_2' }), [['cmnd/tasmota_49A3BC/POWER2', 'OFF']]);
    assert.deepEqual(stateOf(two, 'tele/tasmota_49A3BC/STATE', { POWER1: 'ON', POWER2: 'OFF' }), {
      on_1: true,
      on_2: false,
    });
    assert.deepEqual(two.words.capabilities[1]?.['names'], { en: 'Right' });
  });

  test('a lamp has brightness, warmth and colour as it has channels', () => {
    assert.deepEqual(keysOf(described({ rl: [2], lt_st: 1 })), ['on', 'brightness', 'linkquality']);
    assert.deepEqual(keysOf(described({ rl: [2], lt_st: 2 })), ['on', 'brightness', 'color_temp', 'linkquality']);
    const lamp = described({ rl: [2], lt_st: 5, lk: 1, so: { 82: 1 } });
    const payload = { POWER: 'ON', Dimmer: 40, HSBColor: '120,80,40', CT: 300 };
    assert.deepEqual(stateOf(lamp, 'stat/tasmota_49A3BC/RESULT', payload), {
      on: true,
      brightness: 40,
      'color.hue': 120,
      'color.saturation': 80,
      color_temp: 300,
    });
    assert.deepEqual(written(lamp, { action: 'set_brightness', brightness: 55 }), [
      ['cmnd/tasmota_49A3BC/Dimmer', '55'],
    ]);
    assert.deepEqual(written(lamp, { action: 'set_color_hs', 'color.hue': 30, 'color.saturation': 90 }), [
      ['cmnd/tasmota_49A3BC/HSBColor1', '30'],
      ['cmnd/tasmota_49A3BC/HSBColor2', '90'],
    ]);
    const channels = described({ rl: [2, 2], lt_st: 2, so: { 68: 1 } });
    assert.deepEqual(stateOf(channels, 'tele/tasmota_49A3BC/STATE', { POWER1: 'ON', Channel: [70, 0] }), {
      on_1: true,
      brightness_1: 70,
      brightness_2: 0,
    });
  });

  test('a shutter moves, also one that is turned', () => {
    const shutter = described({ rl: [3, 3], sho: [1] });
    assert.equal(shutter.words.icon, 'blinds');
    const moving = { Shutter1: { Position: 30, Direction: 1, Target: 100, Tilt: 0 } };
    assert.deepEqual(stateOf(shutter, 'stat/tasmota_49A3BC/RESULT', moving), { position: 70, movement: 'closing' });
    assert.deepEqual(written(shutter, { action: 'set_position', position: 70 }), [
      ['cmnd/tasmota_49A3BC/ShutterPosition1', '30'],
    ]);
    assert.deepEqual(written(shutter, { action: 'stop' }), [['cmnd/tasmota_49A3BC/ShutterStop1', '']]);
    assert.deepEqual(written(shutter, { action: 'open' }), [['cmnd/tasmota_49A3BC/ShutterOpen1', '']]);
    assert.deepEqual(keysOf(described({ rl: [3, 3, 3, 3] })).slice(0, 2), ['position_1', 'movement_1']);
  });

  test('a fan has four speeds, and its light', () => {
    const fan = described({ rl: [2, 1, 1, 1], if: 1 });
    assert.deepEqual(written(fan, { action: 'set_fan_speed', fan_speed: 3 }), [['cmnd/tasmota_49A3BC/FanSpeed', '3']]);
    assert.ok(!keysOf(fan).includes('brightness_1'));
  });
});

test('hostile announcements and payloads are none, or say little', () => {
  const keys = JSON.parse('{"sn":{"__proto__":{"Temperature":1},"constructor":{"Power":2},"A\\"":{"x":1}}}') as object;
  const odd = described(
    { dn: '\u202e', fn: [{}], md: '../..', rl: [1, 'x', null, 9], swc: [[]], so: null, sho: 'x' },
    {
      ...keys,
    },
  );
  assert.equal(odd.name, 'tasmota_49A3BC');
  assert.equal(odd.words.type, 'tasmota.device');
  const textless = JSON.parse('{"toString":null,"valueOf":null}') as object;
  described({ rl: [2, 3, 3], lt_st: textless, sho: [textless], state: [textless], fn: [textless], swc: [textless] });
  const hear = gatewayOf(odd);
  let deep: unknown = 1;
  for (let depth = 0; depth < 5_000; depth += 1) deep = { a: deep };
  const texts = ['null', '[', '"ON"', '{"Shutter1":{"Position":{}}}', '{"HSBColor":"a,b"}', '{"Channel":[1,null]}'];
  for (const text of [...texts, JSON.stringify({ AM2301: deep })]) hear('tele/tasmota_49A3BC/SENSOR', text);
  const many = { sn: { A: Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`v${at}`, at])) } };
  assert.ok(described({}, many).words.capabilities.length <= 64);
});
