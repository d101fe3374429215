import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceType } from '@station/protocol/device-types';
import type { Device } from '@station/protocol/devices';
import { builtInDeviceTypes } from '@station/protocol/builtin-device-types';
import { deviceTypesOf, missingTypes, outlining, withMessages, withRead } from './devices.ts';

const time = (second: number): string => new Date(Date.UTC(2026, 10, 21, 9, 0, second)).toISOString();
const lamp = (power: boolean, second: number, more: Partial<Device> = {}): Device => ({
  id: 'lamp',
  externalId: 'x',
  type: 'light',
  name: 'Lamp',
  zoneId: null,
  status: 'online',
  statusAt: time(0),
  lastSeenAt: time(second),
  state: { power },
  stateAt: time(second),
  stateTimes: {},
  fault: null,
  dropped: null,
  firmwareVersion: null,
  chip: null,
  createdAt: time(0),
  ...more,
});

test('a read that began before a message does not undo the message', () => {
  const read = [lamp(false, 1, { name: 'Reading lamp' })];
  const state = {
    type: 'device_state',
    deviceId: 'lamp',
    state: { power: true },
    stateAt: time(5),
    stateTimes: { brightness: time(1) },
    at: time(5),
  } as const;
  const gone = { type: 'device_status', deviceId: 'lamp', status: 'offline', at: time(6) } as const;
  const { devices: live } = withMessages([lamp(false, 1)], [state, gone]);
  const [shown] = withRead(live, read);
  assert.deepEqual([shown?.state, shown?.stateAt, shown?.lastSeenAt], [{ power: true }, time(5), time(5)]);
  assert.deepEqual(shown?.stateTimes, { brightness: time(1) });
  assert.deepEqual([shown?.status, shown?.statusAt, shown?.name], ['offline', time(6), 'Reading lamp']);
});

test('what was read counts where it is later, or where nothing was known', () => {
  assert.deepEqual(withRead([lamp(true, 5)], [lamp(false, 9)]), [lamp(false, 9)]);
  assert.deepEqual(withRead([lamp(true, 5)], [lamp(false, 5)]), [lamp(false, 5)]);
  const unreported = lamp(true, 5, { stateAt: null, statusAt: null, lastSeenAt: null, state: {}, status: 'unknown' });
  assert.deepEqual(withRead([unreported], [lamp(false, 1)]), [lamp(false, 1)]);
  assert.deepEqual(withRead([lamp(true, 5), lamp(true, 5, { id: 'removed' })], [lamp(false, 9)]), [lamp(false, 9)]);
  assert.deepEqual(withRead([], [lamp(false, 1)]), [lamp(false, 1)]);
});

test('types are read again when a device has one that is not known, once for each', () => {
  const missing = missingTypes();
  const light = { id: '1', type: 'light' };
  const fan = { id: '2', type: 'fan' };
  assert.equal(missing([light], undefined), false);
  assert.equal(missing([light], builtInDeviceTypes), false);
  assert.equal(missing([light, fan], builtInDeviceTypes), true);
  assert.equal(missing([light, fan], builtInDeviceTypes), false);
  assert.equal(missing([{ id: '3', type: 'kettle' }], builtInDeviceTypes), true);
  const own = { ...lock('Lock'), deviceIds: ['4'] };
  assert.equal(missing([{ id: '4', type: 'door-lock' }], [own]), false);
  assert.equal(missing([{ id: '5', type: 'door-lock' }], [own]), true);
});

const lock = (name: string): DeviceType => ({
  type: 'door-lock',
  category: 'actuator',
  capabilities: [{ key: 'locked', kind: 'boolean' }],
  commands: [{ action: 'lock', confirmedBy: ['locked'], repeatable: true, names: { en: name } }],
  events: [],
});

test('what a device says about itself counts for it alone, and not where the station has a type of that name', () => {
  const light = builtInDeviceTypes.find(({ type }) => type === 'light') ?? assert.fail();
  const types = deviceTypesOf([
    { ...lock('Unlock'), deviceIds: ['hijacked'] },
    { ...light, names: { en: 'Not a light' }, deviceIds: ['hijacked'] },
    ...builtInDeviceTypes,
    { ...lock('Lock'), deviceIds: ['honest'] },
  ]);
  const nameOf = (id: string, type = 'door-lock') => types.of({ id, type })?.commands[0]?.names?.['en'];
  assert.deepEqual([nameOf('honest'), nameOf('other'), types.named('door-lock')], ['Lock', undefined, undefined]);
  assert.equal(types.of({ id: 'hijacked', type: 'light' }), light);
  assert.equal(nameOf('honest', 'door-lock-2'), undefined);
});

test('messages change their own devices only, and nothing else becomes another object', () => {
  const one = lamp(false, 1);
  const two = lamp(true, 1, { id: 'two' });
  const state = { type: 'device_state', state: { power: true }, stateTimes: {} } as const;
  const { devices, isIncomplete } = withMessages(
    [one, two],
    [
      { ...state, deviceId: 'lamp', stateAt: time(5), at: time(5) },
      { ...state, state: { power: false }, deviceId: 'two', stateAt: time(0), at: time(0) },
    ],
  );
  assert.equal(isIncomplete, false);
  assert.deepEqual(devices[0]?.state, { power: true });
  assert.equal(devices[1], two);
  const known = [one, two];
  assert.equal(withMessages(known, [{ type: 'pong', at: time(9) }]).devices, known);
  assert.deepEqual(withMessages(known, [{ type: 'device_removed', deviceId: 'two', at: time(9) }]).devices, [one]);
  const unknown = withMessages(known, [{ ...state, deviceId: 'new', stateAt: time(5), at: time(5) }]);
  assert.deepEqual([unknown.devices, unknown.isIncomplete], [known, true]);
});

test('the outline is the same list until more than a state changes', () => {
  const outlineOf = outlining();
  const first = outlineOf([lamp(false, 1)]);
  assert.equal(outlineOf([lamp(true, 5)]), first);
  const renamed = outlineOf([lamp(true, 5, { name: 'Night light' })]);
  assert.notEqual(renamed, first);
  assert.equal(outlineOf([lamp(false, 9, { name: 'Night light' })]), renamed);
  assert.equal(outlineOf([]).length, 0);
});
