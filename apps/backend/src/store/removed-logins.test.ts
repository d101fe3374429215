import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { createDeviceStore } from './device-store.ts';
import { hashToken } from '../core/secrets.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createRemovedDevices, createRemovedLogins } from './removed-device-store.ts';

test('removing a device remembers it with its login; ending the login notes it for the broker, once', async () => {
  await using store = await openTestStore();
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const removed = createRemovedDevices(store.db);
  const logins = createRemovedLogins(store.db);
  const lamp = { externalId: 'lamp-1', type: 'light', name: 'Lamp', zoneId: null };
  const ids = [];
  for (let time = 0; time < 2; time += 1) {
    const { id, token } = await devices.provision(lamp);
    assert.equal(await removed.find('lamp-1'), null, 'it is not removed any more');
    const removal = await devices.remove(id);
    assert.ok(removal);
    assert.equal(await devices.remove(id), null);
    assert.deepEqual({ ...(await removed.find('lamp-1')) }, removal);
    assert.deepEqual([removal.name, removal.type, removal.token_hash], ['Lamp', 'light', hashToken(token)]);
    assert.equal(removal.login_until - removal.removed_at, 30 * 24 * 60 * 60 * 1000);
    assert.ok(await removed.end(removal, 'obeyed', 5));
    assert.ok(!(await removed.end(removal, 'expired', 6)));
    ids.push(id);
  }
  const remembered = await removed.find('lamp-1');
  assert.deepEqual([remembered?.ended, remembered?.ended_at, remembered?.token_hash], ['obeyed', 5, null]);
  const [one, other] = await logins.list();
  assert.ok(one && other);
  assert.deepEqual([one.externalId, other.externalId], ['lamp-1', 'lamp-1']);
  assert.deepEqual(new Set([one.deviceId, other.deviceId]), new Set(ids));
  await logins.forget(one);
  assert.deepEqual(await logins.list(), [other]);
});
