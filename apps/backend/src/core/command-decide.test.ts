import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import { type DeviceType, readDeviceType } from '@station/protocol/device-types';
import { afterRestart, type Confirmation, confirmationOf, isConfirmedBy, isRepeatable } from './command-decide.ts';
import type { DeviceReport } from './device-events.ts';
import type { State } from './device-state.ts';

const light = findBuiltInType('light');
const blind = typeOf({
  type: 'blind',
  capabilities: [
    { key: 'position', kind: 'number', min: 0, max: 100 },
    { key: 'speed', kind: 'number' },
    { key: 'mode', kind: 'enum', values: ['day', 'night'] },
    { key: 'isMoving', kind: 'boolean' },
  ],
  commands: [
    {
      action: 'move',
      params: {
        type: 'object',
        properties: { position: { type: 'number' }, speed: { type: 'number' } },
        required: ['position'],
      },
      confirmedBy: ['position', 'speed'],
      repeatable: true,
    },
    { action: 'close', sets: { position: 0, mode: 'night' }, confirmedBy: ['position', 'mode'], repeatable: true },
    { action: 'step', confirmedBy: ['position', 'isMoving'], repeatable: false },
    { action: 'identify', confirmedBy: [], repeatable: true },
    { action: 'stop', sets: { isMoving: false }, confirmedBy: [], repeatable: true },
  ],
});

function typeOf(description: object): DeviceType {
  const read = readDeviceType(description);
  assert.ok(read.kind === 'ok', JSON.stringify(read));
  return read.deviceType;
}

const acknowledgement: Confirmation = { by: 'acknowledgement' };
const handshake: Confirmation = { by: 'handshake' };
const report = (...values: Extract<Confirmation, { by: 'report' }>['values']): Confirmation => ({
  by: 'report',
  values,
});

type Confirming = [
  what: string,
  type: DeviceType | undefined,
  action: string,
  params: object,
  before: State,
  expected: Confirmation,
];

const confirmations: Confirming[] = [
  ['a command that sets', light, 'turn_on', {}, {}, report({ capability: 'on', tolerance: 0, equals: true })],
  ['also when it is so', light, 'turn_on', {}, { on: true }, report({ capability: 'on', tolerance: 0, equals: true })],
  ['toggle', light, 'toggle', {}, { on: false }, report({ capability: 'on', tolerance: 0, differsFrom: false })],
  ['toggle of an unknown state', light, 'toggle', {}, {}, acknowledgement],
  ['toggle does not inherit a state', light, 'toggle', {}, Object.create({ on: false }) as State, acknowledgement],
  [
    'a parameter, within a tenth of its range',
    blind,
    'move',
    { position: 40 },
    {},
    report({ capability: 'position', tolerance: 10, equals: 40 }),
  ],
  [
    'a parameter that was left out does not count beside one that was given',
    blind,
    'move',
    { position: 40 },
    { speed: 3 },
    report({ capability: 'position', tolerance: 10, equals: 40 }),
  ],
  [
    'several values',
    blind,
    'close',
    {},
    {},
    report({ capability: 'position', tolerance: 10, equals: 0 }, { capability: 'mode', tolerance: 0, equals: 'night' }),
  ],
  [
    'several values of an unknown result',
    blind,
    'step',
    {},
    { position: 10, isMoving: false },
    report(
      { capability: 'position', tolerance: 0, differsFrom: 10 },
      { capability: 'isMoving', tolerance: 0, differsFrom: false },
    ),
  ],
  ['no capability is named', blind, 'identify', {}, { position: 1 }, acknowledgement],
  ['what it sets is not named', blind, 'stop', {}, { isMoving: true }, acknowledgement],
  ['a command of another type', light, 'close', {}, { position: 1 }, acknowledgement],
  ['an unknown type', undefined, 'turn_on', {}, { on: false }, acknowledgement],
  ['reboot', light, 'reboot', {}, {}, handshake],
  ['ota_update', undefined, 'ota_update', {}, {}, handshake],
  ['wifi_update', light, 'wifi_update', {}, {}, handshake],
  ['factory_reset', light, 'factory_reset', {}, {}, acknowledgement],
];

for (const [what, type, action, params, before, expected] of confirmations) {
  test(`what confirms a command: ${what}`, () => {
    const confirmation = confirmationOf(type, action, { ...params }, before);
    assert.deepEqual(confirmation, expected);
    assert.deepEqual(JSON.parse(JSON.stringify(confirmation)), expected, 'it is stored');
  });
}

const sentAt = 1_000;
const on = report({ capability: 'on', tolerance: 0, equals: true });
const toggled = report({ capability: 'on', tolerance: 0, differsFrom: false });
const stepped = report(
  { capability: 'position', tolerance: 0, differsFrom: 10 },
  { capability: 'isMoving', tolerance: 0, differsFrom: false },
);
const half = report({ capability: 'brightness', tolerance: 10, equals: 50 });
const both = report({ capability: 'on', tolerance: 0, equals: true }, { capability: 'level', tolerance: 0, equals: 3 });

const state = (values: State, times: { sentAt?: number } = {}): DeviceReport => {
  return { kind: 'state', deviceId: 'a', at: 1_100, state: values, ...times };
};
const restarted: DeviceReport = {
  kind: 'handshake',
  deviceId: 'a',
  at: 1_100,
  firmwareVersion: '1',
  chip: 'c',
  kitTag: null,
};
const event: DeviceReport = { kind: 'event', deviceId: 'a', at: 1_100, eventKind: 'device_event', data: { on: true } };

const judgements: [what: string, confirmation: Confirmation, report: DeviceReport, expected: boolean][] = [
  ['the value that was asked for', on, state({ on: true }), true],
  ['another value', on, state({ on: false }), false],
  ['an absent capability', on, state({ brightness: 5 }), false],
  ['an empty state', on, state({}), false],
  ['a value of another kind', on, state({ on: 1 }), false],
  ['null', on, state({ on: null }), false],
  ['another value than before', toggled, state({ on: true }), true],
  ['the value as before', toggled, state({ on: false }), false],
  ['a state without the toggled value', toggled, state({ brightness: 5 }), false],
  ['one difference of two', stepped, state({ position: 20, isMoving: false }), true],
  ['no difference of two', stepped, state({ position: 10, isMoving: false }), false],
  ['a coarse step', half, state({ brightness: 60 }), true],
  ['beyond a coarse step', half, state({ brightness: 60.5 }), false],
  ['a text instead of a number', half, state({ brightness: '50' }), false],
  ['one of two values', both, state({ on: true }), true],
  ['two of two values', both, state({ on: true, level: 3 }), true],
  ['one value that fits and one that contradicts', both, state({ on: true, level: 4 }), false],
  ['a state that was sent later', on, state({ on: true }, { sentAt }), true],
  ['a state that waited at the broker', on, state({ on: true }, { sentAt: sentAt - 1 }), false],
  ['an event', on, event, false],
  ['a handshake instead of a state', on, restarted, false],
  ['a handshake', handshake, restarted, true],
  ['a state instead of a handshake', handshake, state({ on: true }), false],
  ['a state instead of an acknowledgement', acknowledgement, state({ on: true }), false],
  ['a handshake instead of an acknowledgement', acknowledgement, restarted, false],
];

for (const [what, confirmation, given, expected] of judgements) {
  test(`${expected ? 'confirms' : 'does not confirm'}: ${what}`, () => {
    assert.equal(isConfirmedBy(confirmation, given, sentAt), expected);
  });
}

test('after a restart of the device a difference shows nothing; a value still does', () => {
  assert.deepEqual(afterRestart(toggled), acknowledgement);
  assert.equal(afterRestart(on), on);
  assert.equal(afterRestart(handshake), handshake);
  assert.equal(afterRestart(acknowledgement), acknowledgement);
});

test('only what the type says may be repeated', () => {
  assert.equal(isRepeatable(light, 'turn_on'), true);
  assert.equal(isRepeatable(light, 'toggle'), false);
  assert.equal(isRepeatable(light, 'reboot'), false);
  assert.equal(isRepeatable(light, 'dance'), false);
  assert.equal(isRepeatable(undefined, 'turn_on'), false);
});
