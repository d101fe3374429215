import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '@station/protocol/devices';
import { missingTypes, withMessage, withRead } from './devices.ts';

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
  const live = [state, gone].reduce<readonly Device[]>(
    (devices, message) => withMessage(devices, message) as readonly Device[],
    [lamp(false, 1)],
  );
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
  const light = { type: 'light' };
  assert.equal(missing([light], undefined), false);
  assert.equal(missing([light], [light]), false);
  assert.equal(missing([light, { type: 'fan' }], [light]), true);
  assert.equal(missing([light, { type: 'fan' }], [light]), false);
  assert.equal(missing([{ type: 'kettle' }], [light]), true);
});
