import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TFunction } from 'i18next';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import { type DeviceType, readDeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import type { ServerMessage } from '@station/protocol/socket';
import { withMessages } from '../../api/devices.ts';
import { formatNumber, readingWords, valueParts } from '../../i18n/device-words.ts';
import { sliderOf, viewOf } from './device-view.ts';

const at = '2026-03-01T12:00:00.000Z';

const device = (type: string, state: Record<string, unknown>): Device => ({
  id: 'd1',
  externalId: 'c0ffee',
  type,
  name: 'Hall',
  zoneId: null,
  status: 'online',
  statusAt: at,
  lastSeenAt: at,
  state,
  stateAt: at,
  stateTimes: {},
  fault: null,
  dropped: null,
  firmwareVersion: null,
  chip: null,
  createdAt: at,
});
const typeNamed = (name: string) => builtInDeviceTypes.find(({ type }) => type === name);

test('a light of the field is switched by two commands, or by one that toggles', () => {
  const light = typeNamed('light');
  const view = viewOf(device('light', { on: true, brightness: 40, wattage: 7 }), light, undefined);
  assert.deepEqual(
    [view.toggle?.request(true), view.toggle?.request(false)],
    [{ action: 'turn_on' }, { action: 'turn_off' }],
  );
  assert.deepEqual(view.readings.at(-1), { capability: { key: 'wattage', kind: 'number' }, value: 7 });
  const commands = light?.commands.filter(({ action }) => action === 'toggle') ?? [];
  const only = light && viewOf(device('light', { on: true }), { ...light, commands }, undefined);
  assert.deepEqual(only?.toggle?.request(false), { action: 'toggle' });
});

const fan = {
  type: 'fan',
  icon: 'fan',
  names: { en: 'Fan', uk: 'Вентилятор' },
  capabilities: [
    { key: 'mode', kind: 'enum', values: ['auto', 'high'], valueNames: { auto: { en: 'Auto', uk: 'Авто' } } },
    { key: 'speed', kind: 'number' },
    { key: 'target', kind: 'number', unit: '°C', min: 5, max: 30 },
    { key: 'noise', kind: 'number' },
  ],
  commands: [
    {
      action: 'set_mode',
      params: { type: 'object', properties: { mode: { type: 'string', enum: ['auto', 'high'] } } },
      confirmedBy: ['mode'],
      repeatable: true,
    },
    {
      action: 'set_speed',
      params: { type: 'object', properties: { speed: { type: 'integer', minimum: 1, maximum: 5 } } },
      confirmedBy: ['speed'],
      repeatable: true,
    },
    { action: 'clean', confirmedBy: [], repeatable: true, names: { en: 'Clean', uk: 'Очистити' } },
  ],
  primary: { capability: 'noise' },
};

function typeOf(description: unknown): DeviceType {
  const read = readDeviceType(description);
  assert.equal(read.kind, 'ok');
  return read.kind === 'ok' ? read.deviceType : assert.fail();
}

test('a type from a file has a control for each value that a command sets, and a button for each other command', () => {
  const view = viewOf(device('fan', { mode: 'auto', speed: 3 }), typeOf(fan), undefined);
  assert.deepEqual(
    view.settings.map(({ capability: { key, kind, min, max }, value }) => [key, kind, min, max, value]),
    [
      ['mode', 'enum', undefined, undefined, 'auto'],
      ['speed', 'number', 1, 5, 3],
    ],
  );
  assert.deepEqual(view.settings[0]?.request('high'), { action: 'set_mode', params: { mode: 'high' } });
  assert.deepEqual([view.toggle, view.slider?.capability.key, view.main?.capability.key], [null, 'speed', 'noise']);
  assert.deepEqual(
    view.actions.map(({ action }) => action),
    ['clean'],
  );
});

test('an enum with a command for each of its values is a choice; a light has no buttons beside its switch', () => {
  const modes = ['auto', 'high'].map((mode) => ({
    action: mode,
    sets: { mode },
    confirmedBy: ['mode'],
    repeatable: true,
  }));
  const view = viewOf(device('fan', {}), typeOf({ ...fan, commands: modes }), undefined);
  assert.deepEqual(view.settings[0]?.request('high'), { action: 'high' });
  assert.deepEqual(view.actions, []);
  assert.deepEqual(viewOf(device('light', {}), typeNamed('light'), undefined).actions, []);
});

test('a light is switched by its main action and dimmed by the second; a command shows before it is confirmed', () => {
  const light = device('light', { on: false, brightness: 40 });
  const view = viewOf(light, typeNamed('light'), { values: { on: true }, refusal: null });
  assert.deepEqual([view.toggle?.value, view.slider?.value], [true, 40]);
  assert.deepEqual(view.toggle?.request(false), { action: 'turn_off' });
  assert.deepEqual(view.slider?.request(55), { action: 'set_brightness', params: { brightness: 55 } });
});

test('a sensor has nothing to switch, and shows the most important value first, also one that was never reported', () => {
  const view = viewOf(device('climate', { humidity: 45 }), typeNamed('climate'), undefined);
  assert.deepEqual([view.toggle, view.slider], [null, null]);
  assert.deepEqual(
    view.readings.map(({ capability, value }) => [capability.key, value]),
    [
      ['temperature', undefined],
      ['humidity', 45],
      ['pressure', undefined],
    ],
  );
});

test('a device of an unknown type shows the values of its state', () => {
  const view = viewOf(device('kettle', { water: 3, hot: true, mode: 'eco', more: {} }), undefined, undefined);
  assert.deepEqual(
    view.readings.map(({ capability, value }) => [capability.key, capability.kind, value]),
    [
      ['water', 'number', 3],
      ['hot', 'boolean', true],
      ['mode', 'text', 'eco'],
    ],
  );
  assert.equal(view.toggle, null);
});

test('live messages change the one device they are about, and ask for the list when they are about another', () => {
  const devices = [device('light', { on: false })];
  const state = {
    type: 'device_state',
    at,
    deviceId: 'd1',
    state: { on: true },
    stateAt: at,
    stateTimes: {},
  } as const;
  const after = (message: ServerMessage) => withMessages(devices, [message]);
  assert.deepEqual(after(state).devices, [{ ...devices[0], state: { on: true } }]);
  const offline = { type: 'device_status', at, deviceId: 'd1', status: 'offline' } as const;
  assert.deepEqual(after(offline).devices, [{ ...devices[0], status: 'offline' }]);
  assert.ok(after({ ...state, deviceId: 'd2' }).isIncomplete);
  assert.ok(after({ type: 'device_changed', at, deviceId: 'd1' }).isIncomplete);
  assert.deepEqual(after({ type: 'device_removed', at, deviceId: 'd1' }).devices, []);
  assert.equal(after({ type: 'pong', at }).devices, devices);
});

test('a description and a state with names that every object has show nothing that is not a value', () => {
  const keys = ['__proto__', 'constructor', 'toString'];
  const hostile: DeviceType = {
    type: 'lamp',
    category: 'sensor',
    capabilities: keys.map((key) => ({ key, kind: 'enum' as const, values: keys, valueNames: { x: { en: 'x' } } })),
    commands: [],
    events: [],
  };
  for (const { value } of viewOf(device('lamp', {}), hostile, undefined).readings) assert.equal(value, undefined);
  const t = ((key: string) => key) as unknown as TFunction;
  const [capability] = hostile.capabilities;
  assert.ok(capability);
  for (const value of keys) assert.deepEqual(valueParts(t, 'en', { capability, value }), { value, unit: null });
  assert.deepEqual(valueParts(t, 'en', { capability, value: { a: { b: 1 } } }), { value: '–', unit: null });
});

test('a value with words of its own needs no name, unless it is a switch', () => {
  const t = ((key: string) => (key === 'device.value.yes' ? 'Yes' : key)) as unknown as TFunction;
  const capability = { key: 'child_lock', kind: 'boolean', names: { en: 'Child lock' } } as const;
  const named = { ...capability, valueNames: { true: { en: 'On' }, false: { en: 'Off' } } };
  assert.equal(readingWords(t, 'en', { capability, value: true }, false), 'Child lock: Yes');
  assert.equal(readingWords(t, 'en', { capability: named, value: true }, true), 'Child lock: On');
  assert.equal(readingWords(t, 'en', { capability: named, value: true }, false), 'On');
});

test('a slider reaches both ends, also where its steps do not lead there', () => {
  const number = { key: 'level', kind: 'number' } as const;
  const cases = [
    [{ min: 153, max: 500 }, 3, 501],
    [{ min: 0, max: 254 }, 3, 255],
    [{ min: 0, max: 10, step: 4 }, 4, 12],
    [{ min: 0, max: 20, step: 50 }, 50, 50],
    [{ min: 5, max: 30, step: 0.5 }, 0.5, 30],
    [{ min: 1.1, max: 2.2, step: 0.1 }, 0.1, 2.2],
    [{ min: 0, max: 100 }, 1, 100],
  ] as const;
  for (const [range, step, end] of cases) {
    const slider = sliderOf({ ...number, ...range });
    assert.equal(slider.step, step);
    assert.ok(Math.abs(slider.end - end) < 1e-9, `${slider.end}`);
    assert.deepEqual([slider.placeOf(range.max), slider.valueAt(slider.end)], [slider.end, range.max]);
    assert.deepEqual([slider.placeOf(range.min), slider.valueAt(range.min)], [range.min, range.min]);
  }
});

test('a number that a command takes whole is set in whole steps', () => {
  const stepOf = (kind: 'integer' | 'number') => {
    const params = { type: 'object', properties: { speed: { type: kind, minimum: 0, maximum: 5 } } };
    const command = { action: 'set_speed', params, confirmedBy: ['speed'], repeatable: true };
    const { slider } = viewOf(device('fan', { speed: 1 }), typeOf({ ...fan, commands: [command] }), undefined);
    return slider && sliderOf(slider.capability).step;
  };
  assert.deepEqual([stepOf('integer'), stepOf('number')], [1, 0.05]);
});

test('a huge number is shown by its magnitude', () => {
  assert.equal(formatNumber('en', { key: 'n', kind: 'number' }, 1e308), '1E308');
  assert.equal(formatNumber('en', { key: 'n', kind: 'number' }, 123456), '123,456');
});
