import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe } from './zigbee2mqtt/describe-decide.ts';
import { commandPayload, readState } from './payloads-decide.ts';
import {
  announcement,
  colourLamp,
  cover,
  doorLock,
  thermostat,
  twoSwitches,
  wallButton,
} from '../../testing/gateways/announcements.ts';

function planOf(definition: object) {
  const device = describe(announcement({ definition }));
  assert.ok(device);
  return device.plan;
}

const written = (definition: object, command: Record<string, unknown>): unknown =>
  commandPayload(planOf(definition), { commandId: 'one', ...command });

const stateOf = (definition: object, payload: unknown): unknown => readState(planOf(definition), payload)?.state;

test('values are read as the station has them', () => {
  const lamp = {
    state: 'ON',
    brightness: 254,
    color_temp: 370,
    color: { x: 0.3, y: 0.4, hue: 30, saturation: 80 },
    linkquality: 87,
  };
  assert.deepEqual(stateOf(colourLamp, lamp), {
    on: true,
    brightness: 100,
    color_temp: 370,
    'color.x': 0.3,
    'color.y': 0.4,
    'color.hue': 30,
    'color.saturation': 80,
    linkquality: 87,
  });
  assert.deepEqual(stateOf(colourLamp, { state: 'OFF', brightness: 1 }), { on: false, brightness: 1 });
  assert.deepEqual(stateOf(twoSwitches, { state_l1: 'ON', state_l2: 'OFF' }), { on_l1: true, on_l2: false });
  assert.deepEqual(stateOf(doorLock, { state: 'UNLOCK', lock_state: 'unlocked' }), {
    locked: false,
    lock_state: 'unlocked',
  });
  assert.deepEqual(stateOf(thermostat, { valve: 1, child_lock: false, level: 2, system_mode: 'heat' }), {
    valve: true,
    child_lock: false,
    level: '2',
    system_mode: 'heat',
  });
  assert.deepEqual(stateOf(thermostat, { schedule: { day: 'monday', transitions: [{ t: 1 }] } }), {
    'schedule.day': 'monday',
    'schedule.transitions': '[{"t":1}]',
  });
});

test('what is not announced stays as it is, and takes no announced place', () => {
  const payload = {
    update: { state: 'idle', installed_version: 5 },
    on: 'other',
    odd: [1, 2],
    last_seen: 'now',
    none: null,
  };
  assert.deepEqual(stateOf(colourLamp, payload), {
    'update.state': 'idle',
    'update.installed_version': 5,
    odd: '[1,2]',
    none: null,
  });
});

test('a press is an event; an empty one, as older releases send after it, is none', () => {
  assert.equal(readState(planOf(wallButton), { action: 'double' })?.event, 'double');
  assert.equal(readState(planOf(wallButton), { action: '' })?.event, null);
  assert.equal(readState(planOf(wallButton), { battery: 5 })?.event, null);
  assert.equal(readState(planOf(colourLamp), { action: 'double' })?.event, null);
});

test('hostile payloads say nothing, or little', () => {
  const plan = planOf(colourLamp);
  for (const payload of [null, 1, 'ON', [], undefined]) assert.equal(readState(plan, payload), null);
  let deep: unknown = 1;
  for (let depth = 0; depth < 1_000; depth += 1) deep = { a: deep };
  assert.equal(Object.keys(readState(plan, { deep })?.state ?? {}).length, 1);
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`key${at}`, at]));
  assert.equal(Object.keys(readState(plan, many)?.state ?? {}).length, 300);
  assert.deepEqual(readState(plan, JSON.parse('{"__proto__":{"x":1},"constructor":2}'))?.state, { '__proto__.x': 1 });
});

test('commands are written as their gateway takes them', () => {
  assert.deepEqual(written(colourLamp, { action: 'turn_on' }), { state: 'ON' });
  assert.deepEqual(written(colourLamp, { action: 'toggle' }), { state: 'TOGGLE' });
  assert.deepEqual(written(colourLamp, { action: 'set_brightness', brightness: 50 }), { brightness: 127 });
  assert.deepEqual(written(colourLamp, { action: 'set_color_xy', 'color.x': 0.1, 'color.y': 0.2 }), {
    color: { x: 0.1, y: 0.2 },
  });
  assert.deepEqual(written(twoSwitches, { action: 'turn_off_l2' }), { state_l2: 'OFF' });
  assert.deepEqual(written(doorLock, { action: 'unlock' }), { state: 'UNLOCK' });
  assert.deepEqual(written(cover, { action: 'stop' }), { state: 'STOP' });
  assert.deepEqual(written(cover, { action: 'set_tilt', tilt: 30 }), { tilt: 30 });
  assert.deepEqual(written(thermostat, { action: 'set_valve', valve: false }), { valve: 0 });
  assert.deepEqual(written(thermostat, { action: 'set_level', level: '2' }), { level: 2 });
  assert.deepEqual(
    written(thermostat, { action: 'set_schedule', 'schedule.day': 'sunday', 'schedule.transitions': '[1]' }),
    { schedule: { day: 'sunday', transitions: [1] } },
  );
});

test('no command of the station itself is written, and none that says nothing', () => {
  for (const action of ['reboot', 'factory_reset', 'wifi_update', 'ota_update', 'constructor', 'nonsense'])
    assert.equal(written(colourLamp, { action, brightness: 1 }), null);
  assert.equal(written(colourLamp, { action: 'set_brightness' }), null);
});

test('a value that another one stands for is written at its own place, and turned where 0 is 100 %', () => {
  const base = { isReadable: true, isSettable: true };
  const plan = {
    properties: [
      { ...base, path: ['position'], set: ['move', 'to'], key: 'position', kind: 'number', isTurned: true } as const,
      { ...base, path: ['level'], key: 'level', kind: 'number', full: 200, isTurned: true } as const,
    ],
    actions: { set: [] },
    eventKey: null,
  };
  assert.deepEqual(readState(plan, { position: 30, level: 50 })?.state, { position: 70, level: 75 });
  const command = { action: 'set', position: 70, level: 75 };
  assert.deepEqual(commandPayload(plan, command), { move: { to: 30 }, level: 50 });
});

test('of a message that says more, only what is announced is taken', () => {
  assert.deepEqual(readState(planOf(colourLamp), { state: 'ON', other: 1 }, 'announced')?.state, { on: true });
});
