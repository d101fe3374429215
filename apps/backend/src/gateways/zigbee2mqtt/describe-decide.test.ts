import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readDeviceType } from '@station/protocol/device-types';
import type { AnnouncedDevice } from '../dialect.ts';
import { describe } from './describe-decide.ts';
import {
  announcement,
  colourLamp,
  cover,
  doorLock,
  thermostat,
  twoSwitches,
  wallButton,
} from '../../../testing/gateways/announcements.ts';

function described(entry: unknown): AnnouncedDevice {
  const device = describe(entry);
  assert.ok(device);
  const { firmwareVersion: _version, chip: _chip, ...words } = device.words;
  const read = readDeviceType(words);
  assert.deepEqual(read.kind === 'ok' ? [] : read.faults, []);
  return device;
}

const actionsOf = ({ words }: AnnouncedDevice): unknown[] => words.commands.map(({ action }) => action);
const capability = ({ words }: AnnouncedDevice, key: string): unknown =>
  words.capabilities.find((one) => one['key'] === key);

test('a lamp has the words of the station for its switch and its brightness, and a colour of two values', () => {
  const lamp = described(announcement({ definition: colourLamp }));
  assert.equal(lamp.externalId, 'zigbee2mqtt:0x00158d0001dc126a');
  assert.equal(lamp.name, 'living room/lamp');
  assert.equal(lamp.words.type, 'zigbee2mqtt.9290012573a');
  assert.equal(lamp.words.icon, 'lightbulb');
  assert.equal(lamp.words.firmwareVersion, '1.50.2_r30933');
  assert.deepEqual(lamp.words.primary, { capability: 'on', command: 'toggle' });
  assert.deepEqual(actionsOf(lamp), [
    'turn_on',
    'turn_off',
    'toggle',
    'set_brightness',
    'set_color_temp',
    'set_color_xy',
    'set_color_hs',
    'set_effect',
  ]);
  const brightness = lamp.words.capabilities.find(({ key }) => key === 'brightness');
  assert.deepEqual(
    { ...brightness, names: null },
    { key: 'brightness', kind: 'number', unit: '%', min: 0, max: 100, names: null },
  );
});

test('endpoints have values and commands of their own', () => {
  const switches = described(announcement({ definition: twoSwitches }));
  assert.deepEqual(actionsOf(switches), [
    'turn_on_l1',
    'turn_off_l1',
    'toggle_l1',
    'turn_on_l2',
    'turn_off_l2',
    'toggle_l2',
  ]);
  assert.deepEqual(
    switches.words.capabilities.map(({ key }) => key),
    ['on_l1', 'on_l2', 'power'],
  );
  assert.deepEqual((capability(switches, 'on_l2') as { names: unknown }).names, {
    en: 'Switch l2',
    de: 'Schalter l2',
    pl: 'Przełącznik l2',
    uk: 'Перемикач l2',
  });
});

test('a lock is locked and unlocked, and no command for switches opens it', () => {
  const lock = described(announcement({ definition: doorLock }));
  assert.deepEqual(actionsOf(lock), ['lock', 'unlock']);
  assert.deepEqual(lock.words.primary, { capability: 'locked' });
});

test('a cover opens, closes and stops, and what stops it is confirmed by its position', () => {
  const blind = described(announcement({ definition: cover }));
  assert.deepEqual(actionsOf(blind), ['open', 'close', 'stop', 'set_position', 'set_tilt']);
  const stop = blind.words.commands.find(({ action }) => action === 'stop');
  assert.deepEqual(stop?.['confirmedBy'], ['state', 'position']);
});

test('a thermostat is set within its range, and its schedule is written as a whole', () => {
  const device = described(announcement({ definition: thermostat }));
  const setpoint = device.words.commands.find(({ action }) => action === 'set_occupied_heating_setpoint');
  assert.deepEqual(setpoint?.['params'], {
    type: 'object',
    properties: { occupied_heating_setpoint: { type: 'number', minimum: 5, maximum: 35 } },
  });
  const schedule = device.words.commands.find(({ action }) => action === 'set_schedule');
  assert.deepEqual(Object.keys((schedule?.['params'] as { properties: object }).properties), [
    'schedule.day',
    'schedule.transitions',
  ]);
  assert.deepEqual(capability(device, 'schedule.transitions'), {
    key: 'schedule.transitions',
    kind: 'text',
    names: { en: 'Transitions' },
  });
});

test('what a button does is an event, and settings of the device come last', () => {
  const button = described(announcement({ definition: wallButton }));
  assert.deepEqual(button.words.events, [
    { action: 'single', kind: 'user_event' },
    { action: 'double', kind: 'user_event' },
  ]);
  assert.equal(button.plan.eventKey, 'action');
  assert.deepEqual(
    button.words.capabilities.map(({ key }) => key),
    ['action', 'battery', 'linkquality'],
  );
  assert.deepEqual(button.words.commands, []);
});

const skipped: Readonly<Record<string, object>> = {
  'the coordinator': { type: 'Coordinator' },
  'a disabled device': { disabled: true },
  'a device before its interview': { interview_completed: false },
  'a device in its interview': { interview_state: 'IN_PROGRESS' },
  'an address that is none': { ieee_address: '0x00158d' },
  'a name that is the topic of the gateway': { friendly_name: 'bridge/devices' },
  'a name with a wildcard': { friendly_name: 'living/+' },
  'a name that is the topic of a command': { friendly_name: 'lamp/set' },
};
for (const [what, change] of Object.entries(skipped)) {
  test(`${what} is no device`, () => {
    assert.equal(describe({ ...announcement({ definition: colourLamp }), ...change }), null);
  });
}

test('a device that its gateway does not support is shown by what it reports', () => {
  const device = described(announcement({ definition: null, interview_state: 'FAILED', model_id: 'Odd Thing #1' }));
  assert.equal(device.words.type, 'zigbee2mqtt.odd-thing-1');
  assert.deepEqual([device.words.capabilities, device.words.commands], [[], []]);
});

test('an announcement with more than a type may have is cut to what fits', () => {
  const expose = (at: number) => ({
    type: 'enum',
    name: `value_${at}`,
    property: `value_${at}`,
    label: 'A label of some length'.repeat(3),
    access: 7,
    values: Array.from({ length: 64 }, (_, one) => `a rather long value ${one}`),
  });
  const exposes = Array.from({ length: 2_000 }, (_, at) => expose(at));
  const device = described(announcement({ definition: { model: 'm'.repeat(500), exposes } }));
  assert.ok(Buffer.byteLength(JSON.stringify(device.words)) < 32 * 1024);
  assert.ok(device.plan.properties.length <= 512);
});

test('hostile announcements are no device, or a good type', () => {
  let deep: unknown = { type: 'composite', property: 'a' };
  for (let depth = 0; depth < 5_000; depth += 1) deep = { type: 'composite', property: 'a', features: [deep] };
  const hostile: unknown[] = [
    [deep],
    [null, 1, 'x', [], { type: 'light' }, { type: 'enum', property: 'e', values: [{}, null] }],
    [
      { type: 'numeric', property: '__proto__', access: 7 },
      { type: 'binary', property: 'constructor', access: 7 },
    ],
    [
      {
        type: 'numeric',
        property: 'n',
        access: 7,
        value_min: 5,
        value_max: 1,
        value_step: 0,
        unit: '\u202e'.repeat(40),
      },
    ],
    [{ type: 'enum', property: 'e', access: 2, values: ['reset', 'reset'] }],
    [
      { type: 'enum', property: 'factory', access: 2, values: ['reset'] },
      { type: 'enum', property: 'reboot', access: 2, values: [1] },
    ],
  ];
  for (const exposes of hostile) described(announcement({ definition: { model: '\u0000', exposes } }));
  for (const entry of [null, 1, 'x', [], {}, { ieee_address: {} }]) assert.equal(describe(entry), null);
});

test('values of an enum that have no text are none', () => {
  const values = JSON.parse('[{"toString":null,"valueOf":null},"on"]') as unknown[];
  const expose = { type: 'enum', name: 'odd', property: 'odd', access: 7, values };
  assert.deepEqual(capability(described(announcement({ definition: { exposes: [expose] } })), 'odd'), {
    key: 'odd',
    kind: 'text',
  });
});
