import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createDeviceStore } from '../store/device-store.ts';
import { openTestStore } from '../testing/test-store.ts';
import { createRemovedLogins } from './device-store.ts';

test('removing a device notes its login, each time again, until the login is removed', async () => {
  await using store = await openTestStore();
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const removed = createRemovedLogins(store.db);
  const lamp = { externalId: 'lamp-1', type: 'light', name: 'Lamp', zoneId: null };
  const ids = [];
  for (let time = 0; time < 2; time += 1) {
    const { id } = await devices.provision(lamp);
    assert.ok(await devices.remove(id));
    assert.ok(!(await devices.remove(id)));
    ids.push(id);
  }
  const [one, other] = await removed.list();
  assert.ok(one && other);
  assert.deepEqual([one.externalId, other.externalId], ['lamp-1', 'lamp-1']);
  assert.deepEqual(new Set([one.deviceId, other.deviceId]), new Set(ids));
  await removed.forget(one);
  assert.deepEqual(await removed.list(), [other]);
});
