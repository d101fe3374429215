import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceType } from '@station/protocol/device-types';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import { homeAssistant } from './home-assistant-decide.ts';
import type { House, SharedDevice } from './picture.ts';

const stationId = 'S';
const topic = (id: string): string => `homeassistant/device/station_S_${id}/config`;
const nothing = () => ({});

const deviceOf = (type: DeviceType | undefined, more: Partial<SharedDevice> = {}): SharedDevice => ({
  id: 'one',
  name: 'Hall',
  typeName: type?.type ?? 'unknown',
  type,
  zone: null,
  isOnline: true,
  state: {},
  firmwareVersion: '1.2.3',
  dialect: null,
  ...more,
});

const houseOf = (...devices: SharedDevice[]): House => ({ stationId, stationName: 'Home', version: '0.1.0', devices });
const draw = (...devices: SharedDevice[]) => homeAssistant.draw(houseOf(...devices), 'homeassistant');

type Told = { components: Record<string, Record<string, unknown>>; device: Record<string, unknown> };

function toldOf(device: SharedDevice, before: Record<string, string> = {}): Told {
  const [message] = draw(device).fixed(() => before);
  assert.equal(message?.topic, topic(device.id));
  return JSON.parse(message.payload) as Told;
}

/** Each platform wants these (home-assistant.io, the page of each platform with MQTT). */
const required: Readonly<Record<string, readonly string[]>> = {
  light: ['command_topic'],
  switch: ['command_topic'],
  lock: ['command_topic'],
  cover: [],
  number: ['command_topic'],
  select: ['command_topic', 'options'],
  text: ['command_topic'],
  sensor: [],
  binary_sensor: [],
  button: ['command_topic'],
  event: ['state_topic', 'event_types'],
};

const everything: DeviceType = {
  type: 'everything',
  category: 'actuator',
  icon: 'blinds',
  capabilities: [
    { key: 'on', kind: 'boolean' },
    { key: 'child_lock', kind: 'boolean' },
    { key: 'locked', kind: 'boolean' },
    { key: 'state', kind: 'enum', values: ['OPEN', 'CLOSE', 'STOP'] },
    { key: 'position', kind: 'number', unit: '%', min: 0, max: 100 },
    { key: 'target', kind: 'number', unit: '°C', min: 5, max: 30, step: 0.5 },
    { key: 'mode', kind: 'enum', values: ['eco', 'boost'] },
    { key: 'label', kind: 'text' },
    { key: 'temperature', kind: 'number', unit: '°C' },
    { key: 'energy', kind: 'number', unit: 'kWh' },
    { key: 'pressure', kind: 'number', unit: '%' },
    { key: 'contact', kind: 'boolean' },
    { key: "it's", kind: 'number' },
  ],
  commands: [
    { action: 'turn_on', sets: { on: true }, confirmedBy: ['on'], repeatable: true },
    { action: 'turn_off', sets: { on: false }, confirmedBy: ['on'], repeatable: true },
    {
      action: 'set_child_lock',
      params: { type: 'object', properties: { child_lock: { type: 'boolean' } } },
      confirmedBy: ['child_lock'],
      repeatable: true,
    },
    { action: 'lock', sets: { locked: true }, confirmedBy: ['locked'], repeatable: true },
    { action: 'unlock', sets: { locked: false }, confirmedBy: ['locked'], repeatable: true },
    { action: 'open', confirmedBy: [], repeatable: true },
    { action: 'close', confirmedBy: [], repeatable: true },
    { action: 'stop', confirmedBy: [], repeatable: true },
    ...(['position', 'target'] as const).map((key) => ({
      action: `set_${key}`,
      params: { type: 'object' as const, properties: { [key]: { type: 'number' as const } } },
      confirmedBy: [key],
      repeatable: true,
    })),
    ...(['mode', 'label'] as const).map((key) => ({
      action: `set_${key}`,
      params: { type: 'object' as const, properties: { [key]: { type: 'string' as const } } },
      confirmedBy: [key],
      repeatable: true,
    })),
    { action: 'identify', confirmedBy: [], repeatable: true },
  ],
  events: [{ action: 'double', kind: 'user_event' }],
};

test('a step is none that Home Assistant refuses', () => {
  const stepOf = (step: number): unknown => {
    const capabilities = everything.capabilities.map((one) => (one.key === 'target' ? { ...one, step } : one));
    return toldOf(deviceOf({ ...everything, capabilities })).components['number-target']?.['step'];
  };
  assert.deepEqual([stepOf(0.5), stepOf(0.001), stepOf(0.0001)], [0.5, 0.001, 0.001]);
});

test('every kind of value and command becomes a component with what its platform wants', () => {
  const { components } = toldOf(deviceOf(everything));
  assert.deepEqual(Object.keys(components).sort(), [
    'binary_sensor-contact',
    'button-identify',
    'cover-cover',
    'event-event',
    'lock-locked',
    'number-target',
    'select-mode',
    'sensor-energy',
    'sensor-pressure',
    'sensor-temperature',
    'switch-child_lock',
    'switch-on',
    'text-label',
  ]);
  const ids = new Set<unknown>();
  for (const [id, component] of Object.entries(components)) {
    const platform = String(component['platform']);
    for (const key of required[platform] ?? [`no platform ${platform}`]) assert.ok(key in component, `${id}: ${key}`);
    ids.add(component['unique_id']);
    const template = component['value_template'];
    if (typeof template === 'string') assert.match(template, /^\{\{ value_json\['[\w.]+'\] \}\}$/);
  }
  assert.equal(ids.size, Object.keys(components).length);
  assert.equal(components['sensor-temperature']?.['device_class'], 'temperature');
  assert.equal(components['sensor-energy']?.['state_class'], 'total_increasing');
  assert.equal(components['sensor-pressure']?.['device_class'], undefined, 'the unit does not fit');
  assert.equal(components['binary_sensor-contact']?.['device_class'], 'opening');
});

const commands: readonly [slot: string, payload: string, call: object | null][] = [
  ['on', 'ON', { action: 'turn_on', params: {} }],
  ['on', 'OFF', { action: 'turn_off', params: {} }],
  ['on', 'toString', null],
  ['child_lock', 'ON', { action: 'set_child_lock', params: { child_lock: true } }],
  ['locked', 'UNLOCK', { action: 'unlock', params: {} }],
  ['locked', 'ON', null],
  ['cover', 'STOP', { action: 'stop', params: {} }],
  ['position', '40', { action: 'set_position', params: { position: 40 } }],
  ['target', '21.5', { action: 'set_target', params: { target: 21.5 } }],
  ['target', '', null],
  ['target', 'NaN', null],
  ['target', 'Infinity', null],
  ['mode', 'eco', { action: 'set_mode', params: { mode: 'eco' } }],
  ['mode', 'other', null],
  ['label', 'Hi', { action: 'set_label', params: { label: 'Hi' } }],
  ['identify', 'PRESS', { action: 'identify', params: {} }],
  ['temperature', '7', null],
  ['__proto__', 'ON', null],
];

test('a command of Home Assistant becomes one of the type, and nothing else does', () => {
  const picture = draw(deviceOf(everything));
  for (const [slot, payload, call] of commands) {
    const asked = picture.read(`station-out/S/one/set/${slot}`, payload);
    assert.deepEqual(
      asked,
      call === null ? null : [{ kind: 'command', deviceId: 'one', ...call }],
      `${slot} ${payload}`,
    );
  }
  for (const other of ['station-out/S/two/set/on', 'station-out/S/one/on', 'station-out/S/one/set/on/more', 'x'])
    assert.equal(picture.read(other, 'ON'), null, other);
  assert.deepEqual(picture.read('homeassistant/status', 'online'), [{ kind: 'everything' }]);
  assert.deepEqual(picture.read('homeassistant/status', 'offline'), []);
});

test('a state is one message, with null for what is not known', () => {
  const picture = draw(deviceOf(everything));
  const state = picture.state('one', { on: true, locked: false, contact: true, temperature: 21, mode: 'eco', odd: 1 });
  assert.deepEqual(JSON.parse(state?.payload ?? ''), {
    on: 'ON',
    child_lock: null,
    locked: 'UNLOCKED',
    state: null,
    position: null,
    target: null,
    mode: 'eco',
    label: null,
    temperature: 21,
    energy: null,
    pressure: null,
    contact: 'OFF',
  });
  const lamp = draw(deviceOf(findBuiltInType('light')));
  assert.equal(lamp.state('one', { on: true })?.payload, '{"on":"ON","brightness":0}', 'a brightness is a number');
  assert.equal(picture.event('one', 'double', {})?.payload, '{"event_type":"double"}');
  assert.equal(picture.event('one', 'other', {}), null);
});

test('a component that is gone stays with its platform alone, and is remembered', () => {
  const [message] = draw(deviceOf(findBuiltInType('light'))).fixed(() => ({ 'sensor-gone': 'sensor' }));
  const told = JSON.parse(message?.payload ?? '') as Told;
  assert.deepEqual(told.components['sensor-gone'], { platform: 'sensor' });
  assert.deepEqual(message?.parts, { 'light-on': 'light', 'sensor-gone': 'sensor' });
});

test('a device is named by its id in every topic, and does not go back to where it came from', () => {
  const one = deviceOf(findBuiltInType('light'), { name: 'a/b+#', zone: 'Attic' });
  const { device } = toldOf(one);
  assert.deepEqual([device['name'], device['suggested_area']], ['a/b+#', 'Attic']);
  const back = deviceOf(findBuiltInType('light'), { id: 'two', dialect: 'home_assistant' });
  const zigbee = deviceOf(findBuiltInType('light'), { id: 'three', dialect: 'zigbee2mqtt' });
  const picture = draw(one, back, zigbee);
  assert.deepEqual(
    picture.fixed(nothing).map((message) => message.topic),
    [topic('one'), topic('three')],
  );
  assert.deepEqual([picture.devices, picture.leftOut, picture.state('two', {})], [2, 1, null]);
});

test('a device without a known type is there, and shows nothing', () => {
  assert.deepEqual(toldOf(deviceOf(undefined)).components, {});
});
