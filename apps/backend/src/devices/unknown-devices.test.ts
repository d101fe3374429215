import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import type { Device } from '@station/protocol/devices';
import type { UnknownDevice } from '@station/protocol/unknown-devices';
import { createDeviceEvents } from '../core/device-events.ts';
import { newToken } from '../core/secrets.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { createStationStore } from '../store/station-store.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { createUnknownDeviceStore, type Sighting } from './unknown-device-store.ts';
import { startUnknownDevices } from './unknown-devices.ts';

const handshake = { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' };

/** The service on a real database; its clock stands still until it is advanced. */
async function withUnknownDevices() {
  const store = await openTestStore();
  const { db } = store;
  const clock = { ...systemClock, now: manualClock().now };
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const conditions: unknown[] = [];
  const noted: unknown[] = [];
  const set = (id: string, holds: boolean, details: unknown): void => void conditions.push([id, holds, details]);
  const rows = createUnknownDeviceStore(db);
  let writes = 0;
  const counted = { ...rows, record: (all: readonly Sighting[]) => (writes++, rows.record(all)) };
  const devices = createDeviceStore({ db, clock });
  const unknown = startUnknownDevices({
    store: counted,
    devices,
    conditions: { set },
    events,
    clock,
    logger,
    stationEvents: { note: (kind, data, { userId } = {}) => void noted.push([kind, data, userId]) },
  });
  const says = (externalId: string, type = 'light') =>
    unknown.receive({ externalId, end: 'handshake', body: { ...handshake, type } });
  const dispose = async (): Promise<void> => {
    await unknown[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  };
  return { db, unknown, devices, rows, conditions, noted, says, writes: () => writes, [Symbol.asyncDispose]: dispose };
}

test('an unknown device gets no answer, is listed, and its flood costs no write for each message', async () => {
  await using all = await withUnknownDevices();
  for (let n = 0; n < 500; n += 1) assert.deepEqual(await all.says('lamp-1'), { kind: 'silence' });
  await until('it is listed', async () => (await all.unknown.list()).length === 1);
  for (let n = 0; n < 500; n += 1) await all.says('lamp-1');
  assert.ok(all.writes() <= 2);
  const [device] = await all.unknown.list();
  assert.deepEqual(
    [device?.externalId, device?.type, device?.chip, device?.firmwareVersion, device?.loginRefused, device?.blocked],
    ['lamp-1', 'light', 'esp32', '1.0.0', false, false],
  );
  await until('people see it', () => all.conditions.length > 1);
  assert.deepEqual(all.conditions.at(-1), ['unknown_devices', true, { count: 1 }]);
});

test('an accepted unknown device is added with the type of its handshake and a token that nobody can present', async () => {
  await using all = await withUnknownDevices();
  await all.says('lamp-1', 'climate');
  await until('it is listed', async () => (await all.unknown.list()).length === 1);
  const accepted = await all.unknown.accept('lamp-1', { name: 'Lamp', zoneId: null }, 'olena');
  assert.equal(accepted.kind, 'added');
  const row = await all.devices.findByExternalId('lamp-1');
  assert.deepEqual([row?.type, row?.name, row?.chip, row?.firmware_version], ['climate', 'Lamp', 'esp32', '1.0.0']);
  assert.match(row?.device_token ?? '', /^unknown:/);
  assert.deepEqual(all.noted, [['device_added', { deviceId: row?.id, name: 'Lamp' }, 'olena']]);
  assert.deepEqual(await all.unknown.list(), []);
  assert.deepEqual(await all.unknown.accept('lamp-1', { name: 'Lamp', zoneId: null }, 'olena'), { kind: 'not_found' });
});

test('an unknown device without a handshake is listed without a type, and accepted with its next handshake', async () => {
  await using all = await withUnknownDevices();
  await all.unknown.receive({ externalId: 'lamp-1', end: 'state', body: { state: {} } });
  await until('it is listed', async () => (await all.unknown.list()).length === 1);
  const [device] = await all.unknown.list();
  assert.deepEqual([device?.type, device?.loginRefused], [null, false]);
  const accepted = await all.unknown.accept('lamp-1', { name: 'Lamp', zoneId: null }, 'olena');
  assert.equal(accepted.kind, 'trusted');
  assert.deepEqual(await all.says('lamp-1', 'pir'), { kind: 'added' });
  const row = await all.devices.findByExternalId('lamp-1');
  assert.deepEqual([row?.name, row?.type], ['Lamp', 'pir']);
  assert.deepEqual(all.noted, [['device_added', { deviceId: row?.id, name: 'Lamp' }, undefined]]);
});

test('a blocked device raises no condition, and stays blocked when it is seen again', async () => {
  await using all = await withUnknownDevices();
  await all.says('lamp-1');
  await until('it is listed', async () => (await all.unknown.list()).length === 1);
  assert.equal((await all.unknown.block('lamp-1', true))?.blocked, true);
  assert.deepEqual(all.conditions.at(-1), ['unknown_devices', false, { count: 0 }]);
  await all.says('lamp-1', 'pir');
  await until('it is seen again', async () => (await all.unknown.list())[0]?.type === 'pir');
  assert.equal((await all.unknown.list())[0]?.blocked, true);
  assert.equal((await all.unknown.block('lamp-1', false))?.blocked, false);
  assert.equal(await all.unknown.block('lamp-2', true), null);
  assert.ok(await all.unknown.forget('lamp-1'));
  assert.ok(!(await all.unknown.forget('lamp-1')));
});

test('names that anybody may present do not displace devices that can log in, nor blocked ones', async () => {
  await using all = await withUnknownDevices();
  const seen = (externalId: string, at: number, isLoginRefused: boolean): Sighting => ({
    externalId,
    at,
    isContested: false,
    ...(isLoginRefused ? { handshake: null, tokenHash: externalId } : { handshake, tokenHash: null }),
  });
  await all.rows.record([seen('blocked', 1, true), seen('real', 2, false)]);
  await all.rows.block('blocked', true);
  await all.rows.record(Array.from({ length: 80 }, (_, n) => seen(`refused-${n}`, 100 + n, true)));
  const names = (await all.unknown.list()).map(({ externalId }) => externalId);
  assert.equal(names.length, 52);
  assert.ok(names.includes('blocked') && names.includes('real') && names.includes('refused-79'));
  await all.rows.record(Array.from({ length: 600 }, (_, n) => seen(`real-${n}`, 1_000 + n, false)));
  const later = (await all.unknown.list()).map(({ externalId }) => externalId);
  assert.equal(later.length, 500);
  assert.ok(later.includes('blocked') && later.includes('real-599') && !later.includes('real'));
});

test('with different tokens for one id nobody is accepted', async () => {
  await using all = await withUnknownDevices();
  await all.unknown.mayLogIn('lamp-1', 'one');
  await until('it is listed', async () => (await all.unknown.list()).length === 1);
  await all.unknown.mayLogIn('lamp-1', 'two');
  await until('it is contested', async () => (await all.unknown.list())[0]?.contested === true);
  assert.deepEqual(await all.unknown.accept('lamp-1', { name: 'Lamp', zoneId: null }, 'olena'), { kind: 'contested' });
  assert.equal(await all.unknown.mayLogIn('lamp-1', 'one'), false);
});

/** The whole backend with its embedded broker, and a device whose login it lost. */
async function withLostLogin() {
  const running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const { db, mqttAddress } = running.backend;
  const { station_id: stationId } = await createStationStore(db).read();
  const login = { stationId, id: '', externalId: 'lamp-1', token: newToken() };
  const connect = (token = login.token, externalId = 'lamp-1') =>
    connectDevice(mqttAddress ?? '', { ...login, token, externalId });
  const call = (method: 'GET' | 'POST' | 'DELETE', url: string, payload?: object) =>
    running.http.inject({ method, url, headers, ...(payload ? { payload } : {}) });
  const list = async () => (await call('GET', '/api/unknown-devices')).json<UnknownDevice[]>();
  return { running, db, connect, call, list, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

test('a device whose token is lost is listed by its login, accepted, trusted once, and works on', async () => {
  await using all = await withLostLogin();
  await assert.rejects(all.connect());
  await until('it is listed', async () => (await all.list()).length === 1);
  const readConditions = async () => (await all.call('GET', '/api/conditions')).json<BackendCondition[]>();
  await until('people are told', async () => (await readConditions()).length > 0);
  const conditions = await readConditions();
  assert.deepEqual(
    conditions.map(({ id, details }) => [id, details]),
    [['unknown_devices', { count: 1 }]],
  );
  const url = '/api/unknown-devices/lamp-1/accept';
  assert.equal((await all.call('POST', url, { name: 'Lamp', zoneId: newToken() })).statusCode, 400);
  const accepted = await all.call('POST', url, { name: 'Lamp' });
  assert.equal(accepted.statusCode, 202);
  assert.ok(Date.parse(accepted.json<UnknownDevice>().acceptedUntil ?? '') > Date.now());
  await assert.rejects(all.connect(newToken()), 'a guesser');
  await using lamp = await all.connect();
  await lamp.publish('handshake', handshake);
  await until('it is answered', () => lamp.received.length > 0);
  assert.deepEqual(lamp.received[0]?.body, { status: 'ok' });
  const [device] = (await all.call('GET', '/api/devices')).json<Device[]>();
  assert.deepEqual([device?.name, device?.type, device?.status], ['Lamp', 'light', 'online']);
  await using _again = await all.connect();
  await assert.rejects(all.connect(newToken()));
  assert.deepEqual(await all.list(), []);
});

test('a wrong token for a device that the station has does not list it as unknown', async () => {
  await using all = await withLostLogin();
  await addDevice(all.db, 'lamp-1');
  await assert.rejects(all.connect(newToken()));
  await assert.rejects(all.connect(newToken(), 'lamp-2'));
  await until('the other is listed', async () => (await all.list()).length > 0);
  assert.deepEqual(
    (await all.list()).map(({ externalId }) => externalId),
    ['lamp-2'],
  );
});

test('the list is not for everybody, and a device that was not seen is not found', async () => {
  await using all = await withLostLogin();
  const without = await all.running.http.inject('/api/unknown-devices');
  assert.equal(without.statusCode, 401);
  assert.equal((await all.call('POST', '/api/unknown-devices/x/accept', { name: 'X' })).statusCode, 404);
  assert.equal((await all.call('POST', '/api/unknown-devices/x/block')).statusCode, 404);
  assert.equal((await all.call('DELETE', '/api/unknown-devices/x')).statusCode, 404);
});
