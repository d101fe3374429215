import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { DeviceRemoval } from '@station/protocol/devices';
import { createDeviceEvents } from '../core/device-events.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createRemovedDevices } from '../store/removed-device-store.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice, type TestDevice } from '../../testing/test-device.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { startRemovedDevices } from './removed-devices.ts';
import { createUnknownDeviceStore } from './unknown-device-store.ts';

const handshake = { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' };

async function withLamp() {
  const running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const { db, mqttAddress } = running.backend;
  const login = await addDevice(db, 'lamp-1');
  const connect = (): Promise<TestDevice> => connectDevice(mqttAddress ?? '', login);
  const remove = async (): Promise<DeviceRemoval> =>
    (await running.http.inject({ method: 'DELETE', url: `/api/devices/${login.id}`, headers })).json();
  const removal = () => createRemovedDevices(db).find('lamp-1');
  return { running, db, login, connect, remove, removal, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

const commandOf = ({ received }: TestDevice) => received.find(({ topic }) => topic.endsWith('/command'))?.body;
const answersOf = ({ received }: TestDevice) =>
  received.filter(({ topic }) => topic.endsWith('/ack')).map(({ body }) => body['status']);

test('a device that is online is told to erase itself, and loses its login when it obeyed', async () => {
  await using all = await withLamp();
  await using lamp = await all.connect();
  await lamp.publish('heartbeat', { status: 'online' });
  assert.equal((await all.remove()).told, true);
  await until('it is told', () => commandOf(lamp) !== undefined);
  assert.equal(commandOf(lamp)?.['action'], 'factory_reset');
  await lamp.publish('state', { state: { power: true } });
  assert.equal(lamp.received.length, 1, 'it is told once');
  assert.ok(lamp.client.connected);
  const closed = new Promise<void>((resolve) => lamp.client.once('close', () => resolve()));
  const data = { action: 'command_ack', commandId: commandOf(lamp)?.['commandId'] };
  await lamp.publish('event', { event: 'device_event', data }).catch(() => undefined);
  await closed;
  assert.equal((await all.removal())?.ended, 'obeyed');
  await assert.rejects(all.connect());
  assert.deepEqual(await createUnknownDeviceStore(all.db).list(), [], 'its last messages do not list it as unknown');
});

test('a device that was offline is told when it returns, with its old login', async () => {
  await using all = await withLamp();
  assert.equal((await all.remove()).told, false);
  await using lamp = await all.connect();
  await lamp.publish('handshake', handshake);
  await until('it is told', () => lamp.received.length === 2);
  assert.deepEqual([answersOf(lamp), commandOf(lamp)?.['action']], [['unknown_device'], 'factory_reset']);
  await lamp.publish('handshake', handshake);
  assert.equal((await all.removal())?.answers, 1, 'a flood is answered no faster');
});

test('an acknowledgement of another command proves nothing', async () => {
  await using all = await withLamp();
  await all.remove();
  await using lamp = await all.connect();
  const data = { action: 'command_ack', commandId: 'another' };
  await lamp.publish('event', { event: 'device_event', data });
  assert.equal((await all.removal())?.ended, null);
});

test('a device that is added again is not removed any more', async () => {
  await using all = await withLamp();
  await all.remove();
  const again = await addDevice(all.db, 'lamp-1');
  assert.equal(await all.removal(), null);
  await using lamp = await connectDevice(all.running.backend.mqttAddress ?? '', again);
  await lamp.publish('handshake', handshake);
  await until('it is answered', () => lamp.received.length > 0);
  assert.deepEqual(answersOf(lamp), ['ok']);
  await assert.rejects(all.connect(), 'its old login');
});

test('after an older copy of the database, a device that was added again waits as an unknown device', async () => {
  await using all = await withLamp();
  await all.remove();
  const removal = await all.removal();
  assert.ok(removal);
  const again = await addDevice(all.db, 'lamp-1');
  all.running.backend.deviceEvents.emit({ kind: 'added', deviceId: again.id, externalId: 'lamp-1' });
  await all.db.deleteFrom('devices').execute();
  await all.db.insertInto('removed_devices').values(removal).execute();
  await assert.rejects(connectDevice(all.running.backend.mqttAddress ?? '', again));
  const { list } = createUnknownDeviceStore(all.db);
  await until('it is listed', async () => (await list()).length === 1);
  assert.equal((await all.removal())?.answers, 0);
});

const told = { externalId: 'lamp-1', end: 'handshake', body: handshake } as const;

test('only the removal of the latest addition counts', async () => {
  await using store = await openTestStore();
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const { id } = await devices.provision({ externalId: 'lamp-1', type: 'light', name: 'Lamp', zoneId: null });
  await devices.remove(id);
  for (const isAddedAgain of [true, false]) {
    await using service = startRemovedDevices({
      removed: createRemovedDevices(store.db),
      wasAddedAgain: () => isAddedAgain,
      events,
      clock: systemClock,
      logger,
    });
    assert.equal((await service.receive(told))?.kind, isAddedAgain ? undefined : 'removed');
  }
});
