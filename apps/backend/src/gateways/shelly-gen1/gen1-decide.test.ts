import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AnnouncedDevice, Said } from '../dialect.ts';
import { commandPayload } from '../payloads-decide.ts';
import { refusedIn, takenWell } from '../../../testing/gateways/announced.ts';
import { shellyGen1 } from './gen1-decide.ts';
import {
  climateMessages,
  colourMessages,
  dimmerMessages,
  doorMessages,
  floodMessages,
  gen1Announcement,
  meterMessages,
  motionMessages,
  relayMessages,
  rollerMessages,
  valveMessages,
} from '../../../testing/gateways/gen1-messages.ts';

const base = 'shellies';
const id = 'shelly1pm-A1B2C3';

/** A gateway that takes a device as soon as it is announced. */
function gateway(known?: AnnouncedDevice) {
  const memory = shellyGen1.remember() as Map<string, unknown>;
  let device = known;
  const hear = (end: string, payload: unknown): Said[] => {
    const topic = end === 'announce' ? `${base}/announce` : `${base}/${id}/${end}`;
    const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
    const at = (heard: string) => (device?.topics.heard.includes(heard) ? [device] : []);
    const of = { memory, at, find: () => device };
    const said = shellyGen1.read({ base, discovery: null, topic, text }, of as never);
    const all = said.flatMap((one) => (one.kind === 'part' ? [...one.say()] : [one]));
    for (const one of all) if (one.kind === 'device') device = takenWell(one.device);
    return all;
  };
  return { memory, hear, device: () => device };
}

function described(messages: Readonly<Record<string, unknown>>) {
  const station = gateway();
  station.hear('announce', gen1Announcement());
  for (const [end, payload] of Object.entries(messages)) station.hear(end, payload);
  const device = station.device();
  assert.ok(device);
  return { station, device };
}

const stateOf = (said: readonly Said[]): unknown =>
  Object.assign({}, ...said.map((one) => (one.kind === 'report' ? one.report.state : {})));
const stateIn = (messages: Readonly<Record<string, unknown>>): unknown => {
  const { station } = described(messages);
  return Object.assign({}, ...Object.entries(messages).map(([end, payload]) => stateOf(station.hear(end, payload))));
};
const written = (device: AnnouncedDevice, command: Record<string, unknown>): unknown => {
  const payload = commandPayload(device.plan, command);
  return payload === null ? null : shellyGen1.write(device, payload).map(({ topic, payload: text }) => [topic, text]);
};
const questionsIn = (said: readonly Said[]): string[] =>
  said.flatMap((one) => (one.kind === 'question' ? [`${one.publish.topic} ${one.publish.payload}`] : []));

const asked = ['announce', 'update'].map((word) => `${base}/${id}/command ${word}`);

describe('a Shelly of the first generation', () => {
  test('has what it publishes, and is called by its topic', () => {
    const { device } = described(relayMessages);
    assert.equal(device.externalId, 'shelly_gen1:e868e7a1b2c3');
    assert.equal(device.name, id);
    assert.equal(device.words.type, 'shelly_gen1.shsw-pm');
    assert.deepEqual(stateIn(relayMessages), {
      on: false,
      power: 12.5,
      energy: 20,
      input: false,
      device_temperature: 41.3,
      overtemperature: false,
      rssi: -58,
    });
    assert.deepEqual(written(device, { action: 'turn_on' }), [[`${base}/${id}/relay/0/command`, 'on']]);
    assert.deepEqual(written(device, { action: 'toggle' }), [[`${base}/${id}/relay/0/command`, 'toggle']]);
  });

  test('is asked when it comes online, or is heard before it was announced', () => {
    const station = gateway();
    assert.deepEqual(questionsIn(station.hear('online', 'true')), asked);
    assert.deepEqual(questionsIn(station.hear('relay/0', 'on')), asked);
    const said = station.hear('announce', gen1Announcement());
    // What it said before counts.
    assert.deepEqual(stateOf(said), { on: true });
    assert.deepEqual(questionsIn(said), asked);
    assert.deepEqual(station.hear('online', 'false'), [
      { kind: 'available', device: station.device(), availability: 'offline' },
    ]);
  });

  test('keeps what it had before the station started', () => {
    const { device } = described(relayMessages);
    const station = gateway(device);
    assert.deepEqual(stateOf(station.hear('relay/0', 'on')), { on: true });
    station.hear('announce', gen1Announcement({ fw_ver: '2' }));
    assert.deepEqual(
      station.device()?.words.capabilities.map(({ key }) => key),
      device.words.capabilities.map(({ key }) => key),
    );
    assert.equal(station.device()?.words.firmwareVersion, '2');
  });

  test('a press is an event once, although it is said again with every report', () => {
    const { station } = described({ 'input/0': '0', 'input_event/0': { event: '', event_cnt: 3 } });
    const press = (event: string, event_cnt: number) => {
      const [said] = station.hear('input_event/0', { event, event_cnt });
      return said?.kind === 'report' ? said.report.event : null;
    };
    assert.equal(press('S', 3), null);
    assert.equal(press('SS', 4), 'input_0_double_push');
    assert.equal(press('SS', 4), null);
    assert.equal(press('L', 5), 'input_0_long_push');
  });

  test('a blind opens, closes, stops and goes to a place', () => {
    const { device } = described(rollerMessages);
    const tell = (command: Record<string, unknown>): unknown => written(device, command);
    assert.deepEqual(tell({ action: 'open' }), [[`${base}/${id}/roller/0/command`, 'open']]);
    assert.deepEqual(tell({ action: 'stop' }), [[`${base}/${id}/roller/0/command`, 'stop']]);
    assert.deepEqual(tell({ action: 'set_position', position: 30 }), [[`${base}/${id}/roller/0/command/pos`, '30']]);
    assert.deepEqual(stateIn(rollerMessages), {
      movement: 'stopped',
      position: 40,
      power: 0,
      energy: 0,
      input_0: false,
      input_1: true,
      voltage: 231.2,
    });
    const without = described({ ...rollerMessages, 'roller/0/pos': '-1' }).device;
    assert.ok(!without.words.capabilities.some(({ key }) => key === 'position'));
  });

  test('lamps are dimmed and coloured', () => {
    const dimmer = described(dimmerMessages).device;
    assert.deepEqual(stateIn(dimmerMessages), { on: true, brightness: 50, power: 5.1 });
    assert.deepEqual(written(dimmer, { action: 'set_brightness', brightness: 70 }), [
      [`${base}/${id}/light/0/set`, '{"turn":"on","brightness":70}'],
    ]);
    const strip = described(colourMessages).device;
    assert.deepEqual(stateIn(colourMessages), { on: false, red: 255, green: 0, blue: 10, white: 0, gain: 80 });
    assert.deepEqual(written(strip, { action: 'set_red', red: 9 }), [
      [`${base}/${id}/color/0/set`, '{"turn":"on","red":9}'],
    ]);
    assert.deepEqual(written(strip, { action: 'turn_off' }), [[`${base}/${id}/color/0/command`, 'off']]);
  });

  test('sensors that sleep are not offline', () => {
    assert.deepEqual(stateIn(climateMessages), { temperature: 21.38, humidity: 48.5, battery: 92 });
    assert.deepEqual(stateIn(floodMessages), { water_leak: false, temperature: 19, battery: 80 });
    assert.deepEqual(stateIn(doorMessages), {
      contact: true,
      illuminance: 120,
      illumination: 'twilight',
      tilt_angle: 0,
      vibration: false,
      temperature: 20.1,
      battery: 77,
    });
    const { station } = described(climateMessages);
    assert.deepEqual(station.hear('online', 'false'), []);
    assert.deepEqual(stateOf(station.hear('sensor/temperature', '999')), { temperature: null });
  });

  test('a motion sensor says all at once; a meter has several phases', () => {
    assert.deepEqual(stateIn(motionMessages), { occupancy: true, vibration: false, illuminance: 300, battery: 88 });
    assert.deepEqual(stateIn(meterMessages), {
      power_0: 100.5,
      power_1: -20,
      power_factor: 0.98,
      voltage: 231,
      energy: 1000.1,
      energy_exported: 12,
      on: false,
    });
  });

  test('a radiator valve is told its temperature', () => {
    const { station, device } = described(valveMessages);
    assert.deepEqual(stateIn(valveMessages), {
      occupied_heating_setpoint: 21.5,
      local_temperature: 19.8,
      valve_position: 33.6,
      battery: 76,
      rssi: -61,
    });
    assert.equal(device.words.icon, 'heater');
    const [target] = device.words.commands;
    assert.deepEqual(target?.['confirmedBy'], ['occupied_heating_setpoint']);
    assert.deepEqual(written(device, { action: 'set_occupied_heating_setpoint', occupied_heating_setpoint: 19.5 }), [
      [`${base}/${id}/thermostat/0/command/target_t`, '19.5'],
    ]);
    assert.deepEqual(refusedIn(station.hear('settings', valveMessages['settings'])), []);
    const none = { thermostats: [{ pos: {}, target_t: null, tmp: { value: 'x' } }], bat: 7 };
    assert.deepEqual(stateOf(station.hear('info', none)), { valve_position: '{}', local_temperature: null });
    for (const thermostats of [null, 7, {}, [], [[]]])
      assert.deepEqual(stateOf(station.hear('info', { thermostats })), {});
  });

  test('a battery that two messages have is one value', () => {
    const state = stateIn({ ...motionMessages, info: { bat: { value: 12, voltage: 4 } } });
    assert.deepEqual(state, { occupancy: true, vibration: false, illuminance: 300, battery: 88 });
  });

  test('what it says and the station does not know is said', () => {
    const { station } = described({ 'relay/0': 'on' });
    assert.deepEqual(refusedIn(station.hear('thermostat/0/target_t', '21')), [
      { name: `${id}: thermostat/0/target_t`, reason: 'kind', detail: null },
    ]);
    assert.deepEqual(refusedIn(gateway().hear('announce', gen1Announcement({ mac: 'x' }))), [
      { name: id, reason: 'incomplete', detail: 'mac' },
    ]);
  });
});

test('hostile messages are none, and what is remembered of them is bounded', () => {
  const station = gateway();
  for (const [end, payload] of [
    ['announce', '{'],
    ['announce', []],
    ['announce', gen1Announcement({ id: 'a/b' })],
    ['announce', gen1Announcement({ id: '+' })],
    ['announce', gen1Announcement({ id: '' })],
    ['announce', gen1Announcement({ mac: {} })],
    ['relay/0/command', 'on'],
  ] as const)
    assert.deepEqual(station.hear(end, payload), [], JSON.stringify(payload));
  const known = { memory: station.memory, at: () => [], find: () => undefined } as never;
  for (let at = 0; at < 2_000; at += 1)
    shellyGen1.read({ base, discovery: null, topic: `${base}/s${at}/relay/0`, text: 'on' }, known);
  assert.equal(station.memory.size, 500);
  for (let at = 0; at < 2_000; at += 1)
    shellyGen1.read({ base, discovery: null, topic: `${base}/s1/x${at}`, text: 'on' }, known);
  for (const end of ['__proto__', 'constructor', 'relay/__proto__', 'relay/0/constructor', 'relay/0/power/x'])
    assert.doesNotThrow(() => station.hear(end, { __proto__: 1 }));
  // An object may have no text and no number that it can become.
  assert.deepEqual(stateIn({ ...motionMessages, status: { bat: { toString: 1 }, motion: { toString: 1 } } }), {
    occupancy: '{"toString":1}',
    battery: '{"toString":1}',
  });
});
