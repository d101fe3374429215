import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { stateCommands } from './state-commands.ts';
import { offCommandOf } from './zone-off.ts';

const device = (type: string, state: Device['state'], status: Device['status'] = 'online'): Device =>
  ({ id: 'a', type, state, status }) as Device;
const light = findBuiltInType('light');
/** One command with a parameter in place of two without. */
const socket: DeviceType = {
  type: 'socket',
  category: 'actuator',
  capabilities: [{ key: 'on', kind: 'boolean' }],
  commands: [
    {
      action: 'switch',
      params: { type: 'object', properties: { on: { type: 'boolean' } } },
      confirmedBy: ['on'],
      repeatable: true,
    },
  ],
  events: [],
};
const toggled = { ...light, commands: light?.commands.filter(({ action }) => action === 'toggle') } as DeviceType;
const lock: DeviceType = {
  type: 'lock',
  category: 'actuator',
  capabilities: [{ key: 'locked', kind: 'boolean' }],
  commands: [
    {
      action: 'set_locked',
      params: { type: 'object', properties: { locked: { type: 'boolean' } } },
      confirmedBy: ['locked'],
      repeatable: true,
    },
  ],
  events: [],
};

for (const [what, actual, expected] of [
  [
    'a lamp that is on: its switch first, then its brightness',
    stateCommands(device('light', { on: true, brightness: 40 }), light),
    [{ action: 'turn_on' }, { action: 'set_brightness', params: { brightness: 40 } }],
  ],
  [
    'a lamp that is off: nothing but that',
    stateCommands(device('light', { on: false, brightness: 40 }), light),
    [{ action: 'turn_off' }],
  ],
  [
    'a socket with one command',
    stateCommands(device('socket', { on: true }), socket),
    [{ action: 'switch', params: { on: true } }],
  ],
  ['a lamp that can only be toggled', stateCommands(device('light', { on: true }), toggled), []],
  ['a sensor', stateCommands(device('climate', { temperature: 20 }), findBuiltInType('climate')), []],
  ['a device that reported nothing', stateCommands(device('light', {}), light), []],
  ['a device of an unknown type', stateCommands(device('x', { on: true }), undefined), []],
] as const) {
  test(`a scene keeps ${what}`, () => assert.deepEqual(actual, expected));
}

for (const [what, actual, expected] of [
  ['a lamp that is on', offCommandOf(device('light', { on: true }), light, undefined)?.request, { action: 'turn_off' }],
  [
    'a socket with one command',
    offCommandOf(device('socket', { on: true }), socket, undefined)?.request,
    { action: 'switch', params: { on: false } },
  ],
  ['no lamp that is off', offCommandOf(device('light', { on: false }), light, undefined)?.request, undefined],
  [
    'no lamp that is offline',
    offCommandOf(device('light', { on: true }, 'offline'), light, undefined)?.request,
    undefined,
  ],
  [
    'no lamp that can only be toggled',
    offCommandOf(device('light', { on: true }), toggled, undefined)?.request,
    undefined,
  ],
  ['no lock: it would open', offCommandOf(device('lock', { locked: true }), lock, undefined)?.request, undefined],
  [
    'no lamp that was just switched off',
    offCommandOf(device('light', { on: true }), light, { values: { on: false }, refusal: null })?.request,
    undefined,
  ],
] as const) {
  test(`"all off" switches off ${what}`, () => assert.deepEqual(actual, expected));
}
