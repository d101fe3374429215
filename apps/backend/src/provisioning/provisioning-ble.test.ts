import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { provisioningStation, handshake, wifi } from '../../testing/provisioning-station.ts';
import { simulateRadio } from '../../testing/simulated-radio.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { postgresDatabase, postgresUrl } from '../../testing/test-postgres.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';

/** A clock that can be put forward. */
function movableClock() {
  let ahead = 0;
  const now = (): number => systemClock.now() + ahead;
  const monotonic = (): number => systemClock.monotonic() + ahead;
  return { ...systemClock, now, monotonic, put: (ms: number) => void (ahead += ms) };
}

test('a device gets the Wi-Fi and its login, connects, and is in the list with its name and zone', async () => {
  await using all = await provisioningStation();
  const { call, radio } = all;
  const zone = (await call('POST', '/api/zones', { name: 'Kitchen' })).json<{ id: string }>();
  const id = await all.add('lamp-1', { wifi, name: ' Lamp ', zoneId: zone.id });
  const write = await all.write();
  await all.reaches(id, 'writing');
  assert.deepEqual(await all.devices(), []);
  const { device_token: token, station_id: stationId, ...rest } = write.payload;
  const port = Number(new URL(all.running.backend.mqttAddress ?? '').port);
  assert.deepEqual(rest, { ...wifi, mqtt_host: '127.0.0.1', mqtt_port: port, device_id: 'lamp-1' });
  assert.match(String(stationId), /^[0-9a-f-]{36}$/);
  assert.equal(write.command.address, radio.seen[0]?.address);
  assert.equal(write.command.service_uuid, '85e4cb5a-4718-47e3-b363-b2d82655ee1e');
  write.end({ ok: true });
  const waiting = await all.reaches(id, 'waiting');
  assert.equal(Date.parse(waiting.endsAt ?? '') - Date.parse(waiting.changedAt), 60_000);
  await assert.rejects(all.connect(write.payload, 'another token'));
  await using lamp = await all.connect(write.payload);
  await lamp.publish('state', { state: { on: true } });
  await lamp.publish('handshake', handshake);
  await until('it is answered', () => lamp.received.length > 0);
  assert.deepEqual(lamp.received[0]?.body, { status: 'ok' });
  const ended = await all.reaches(id, 'succeeded');
  const [device] = await all.devices();
  assert.deepEqual([device?.name, device?.zoneId, device?.type, device?.status], ['Lamp', zone.id, 'light', 'online']);
  assert.equal(ended.deviceId, device?.id);
  assert.deepEqual(await all.unknown(), []);
  await using again = await all.connect(write.payload);
  assert.ok(again.client.connected);
  assert.ok(!all.running.logger.lines.some((line) => line.includes(wifi.password) || line.includes(String(token))));
});

test('the secrets of a device are sealed, and removed when it is added', async () => {
  await using all = await provisioningStation();
  const row = () => all.db.selectFrom('provisionings').selectAll().executeTakeFirstOrThrow();
  const id = await all.add();
  const write = await all.write();
  const sealed = Buffer.from((await row()).secrets ?? '', 'base64').toString('latin1');
  for (const secret of [wifi.password, String(write.payload['device_token'])]) assert.ok(!sealed.includes(secret));
  write.end({ ok: false, error: 'disconnected' });
  assert.equal((await all.reaches(id, 'failed')).error, 'disconnected');
  const { secrets, token_hash: tokenHash } = await row();
  assert.deepEqual([secrets, tokenHash], [null, null]);
});

test('without a network of its own a device gets the one of the station', async () => {
  await using all = await provisioningStation();
  const refused = await all.call('POST', '/api/provisioning/add', { externalId: 'lamp-1' });
  assert.deepEqual([refused.statusCode, refused.json().code], [409, 'no_wifi_credentials']);
  await all.call('PUT', '/api/settings/wifi', wifi);
  assert.deepEqual((await all.view()).wifi, { ssid: wifi.ssid, isOpen: false });
  await all.add('lamp-1', {});
  const { payload } = await all.write();
  assert.deepEqual([payload['ssid'], payload['password']], [wifi.ssid, wifi.password]);
});

test('what cannot be added is refused, and nothing is written', async () => {
  await using all = await provisioningStation();
  const add = (body: object) => all.call('POST', '/provisioning/add', { externalId: 'lamp-1', wifi, ...body });
  const codes = async (body: object) => {
    const { statusCode, body: text } = await add(body);
    return [statusCode, (JSON.parse(text) as { code: string }).code];
  };
  assert.deepEqual(await codes({ externalId: 'lamp-9' }), [404, 'not_found']);
  assert.deepEqual(await codes({ zoneId: crypto.randomUUID() }), [400, 'validation_failed']);
  assert.deepEqual(await codes({ wifi: { ...wifi, ssid: 'Х'.repeat(20) } }), [400, 'validation_failed']);
  assert.deepEqual(await codes({ wifi: { ...wifi, password: 'ä'.repeat(65) } }), [400, 'wifi_password_invalid']);
  assert.deepEqual((await all.view()).provisionings, []);
  await add({});
  assert.deepEqual(await codes({}), [409, 'conflict']);
  all.radio.set({ state: 'unavailable', reason: 'adapter_missing' });
  assert.deepEqual(await codes({ externalId: 'lamp-2' }), [503, 'unavailable']);
  const { payload } = await all.write();
  assert.equal(payload['device_id'], 'lamp-1');
  assert.equal((await all.running.http.inject('/api/provisioning')).statusCode, 401);
});

test('of two that say they are one device a person chooses by the address, and only that one gets the password', async () => {
  const twins = [
    { address: 'AA:AA:AA:AA:AA:01', rssi: -70 },
    { address: 'EE:EE:EE:EE:EE:01', rssi: -30 },
  ];
  await using all = await provisioningStation({ radio: simulateRadio(...twins) });
  const refused = await all.call('POST', '/api/provisioning/add', { externalId: 'lamp-1', wifi });
  assert.deepEqual([refused.statusCode, refused.json().code], [409, 'candidate_ambiguous']);
  const elsewhere = { externalId: 'lamp-2', address: 'AA:AA:AA:AA:AA:01', wifi };
  assert.equal((await all.call('POST', '/api/provisioning/add', elsewhere)).statusCode, 404);
  assert.deepEqual((await all.view()).provisionings, []);
  await all.add('lamp-1', { wifi, address: 'AA:AA:AA:AA:AA:01' });
  assert.equal((await all.write()).command.address, 'AA:AA:AA:AA:AA:01');
});

test('one whose id looks like that of another is a twin, and only the chosen one gets the password', async () => {
  const radio = simulateRadio({ address: 'AA:AA:AA:AA:AA:01' }, { address: 'EE:EE:EE:EE:EE:01', externalId: 'Lamp-l' });
  await using all = await provisioningStation({ radio });
  const refused = await all.call('POST', '/api/provisioning/add', { externalId: 'lamp-1', wifi });
  assert.deepEqual([refused.statusCode, refused.json().code], [409, 'candidate_ambiguous']);
  const other = { externalId: 'lamp-1', address: 'EE:EE:EE:EE:EE:01', wifi };
  assert.equal((await all.call('POST', '/api/provisioning/add', other)).statusCode, 404);
  await all.add('lamp-1', { wifi, address: 'AA:AA:AA:AA:AA:01' });
  assert.equal((await all.write()).command.address, 'AA:AA:AA:AA:AA:01');
});

test('a twin that comes while the radio is busy gets nothing', async () => {
  await using all = await provisioningStation();
  all.radio.isPaused = true;
  const address = all.radio.seen[0]?.address;
  await all.add('lamp-1');
  const [lamp] = all.radio.seen;
  assert.ok(lamp);
  all.radio.seen = [{ ...lamp, address: 'EE:EE:EE:EE:EE:01', rssi: -10 }];
  all.radio.isPaused = false;
  assert.equal((await all.write()).command.address, address);
});

test('a payload that is too large fails before anything is made', async () => {
  await using all = await provisioningStation({ env: { DEVICE_MQTT_HOST: `${'x'.repeat(300)}.example` } });
  const id = await all.add();
  assert.equal((await all.reaches(id, 'failed')).error, 'payload_invalid');
  assert.deepEqual(all.radio.writes, []);
});

test('several devices wait for the radio in turn, and for their handshakes together', async () => {
  await using all = await provisioningStation();
  const ids = [await all.add('lamp-1'), await all.add('lamp-2'), await all.add('lamp-3')];
  const statuses = async () => {
    const { provisionings } = await all.view();
    return ids.map((id) => provisionings.find((one) => one.id === id)?.status);
  };
  for (const [index, id] of ids.entries()) {
    const write = await all.write(index + 1);
    await all.reaches(id, 'writing');
    assert.equal(all.radio.writes.length, index + 1);
    write.end({ ok: true });
    await all.reaches(id, 'waiting');
  }
  assert.deepEqual(await statuses(), ['waiting', 'waiting', 'waiting']);
  for (const [index, id] of [...ids.entries()].reverse()) {
    await using lamp = await all.connect(all.radio.writes[index]!.payload);
    await lamp.publish('handshake', handshake);
    await all.reaches(id, 'succeeded');
  }
  assert.equal((await all.devices()).length, 3);
});

test('a device whose handshake does not come in time loses its login, and is a device as any other', async () => {
  const clock = movableClock();
  await using all = await provisioningStation({ clock });
  const id = await all.add();
  const write = await all.write();
  write.end({ ok: true });
  await all.reaches(id, 'waiting');
  await using lamp = await all.connect(write.payload);
  clock.put(61_000);
  await all.add('lamp-2');
  await all.reaches(id, 'timed_out');
  await until('its connection ended', () => !lamp.client.connected);
  await assert.rejects(all.connect(write.payload));
  assert.deepEqual(await all.devices(), []);
  await until('it is listed', async () => (await all.unknown()).length > 0);
});

test('what a device sends right behind its first handshake is kept', async () => {
  await using all = await provisioningStation();
  const id = await all.add();
  const write = await all.write();
  write.end({ ok: true });
  await using lamp = await all.connect(write.payload);
  const sending = [lamp.publish('heartbeat', { status: 'online' }), lamp.publish('handshake', handshake)];
  await Promise.all([...sending, lamp.publish('state', { state: { on: true, brightness: 40 } })]);
  await all.reaches(id, 'succeeded');
  await until('its state is there', async () => (await all.devices())[0]?.state['brightness'] === 40);
});

test('a device that logged in with what was written is waited for, whatever the radio says', async () => {
  await using all = await provisioningStation();
  const id = await all.add();
  const write = await all.write();
  await using lamp = await all.connect(write.payload);
  write.end({ ok: false, error: 'disconnected' });
  await all.reaches(id, 'waiting');
  await lamp.publish('handshake', handshake);
  await all.reaches(id, 'succeeded');
});

test('a handshake during the write ends it', async () => {
  await using all = await provisioningStation();
  const id = await all.add();
  const write = await all.write();
  await using lamp = await all.connect(write.payload);
  await lamp.publish('handshake', handshake);
  await all.reaches(id, 'succeeded');
  write.end({ ok: false, error: 'disconnected' });
  const next = await all.add('lamp-2');
  await all.reaches(next, 'writing');
  assert.equal((await all.devices())[0]?.status, 'online');
});

test('cancelling revokes the login; what has ended cannot be cancelled', async () => {
  await using all = await provisioningStation();
  const id = await all.add();
  const write = await all.write();
  write.end({ ok: true });
  await all.reaches(id, 'waiting');
  const url = `/api/provisioning/${id}`;
  const cancelled = await all.call('DELETE', url);
  assert.deepEqual([cancelled.statusCode, cancelled.json().status], [200, 'cancelled']);
  assert.equal((await all.call('DELETE', url)).statusCode, 409);
  assert.equal((await all.call('DELETE', `/api/provisioning/${crypto.randomUUID()}`)).statusCode, 404);
  await assert.rejects(all.connect(write.payload));
  await all.add();
  const second = await all.write(2);
  assert.notEqual(second.payload['device_token'], write.payload['device_token']);
});

test('one that waits for the radio is cancelled before it is written', async () => {
  await using all = await provisioningStation();
  all.radio.isPaused = true;
  const id = await all.add();
  await all.reaches(id, 'queued');
  await all.call('DELETE', `/api/provisioning/${id}`);
  all.radio.isPaused = false;
  await all.add('lamp-2');
  const { payload } = await all.write();
  assert.equal(payload['device_id'], 'lamp-2');
});

/** A device of the station, connected with its login. */
async function withKnownDevice(clock = movableClock()) {
  const all = await provisioningStation({ clock });
  const login = await addDevice(all.db, 'lamp-1', 'light');
  const connectOld = () => connectDevice(all.running.backend.mqttAddress ?? '', login);
  return { ...all, clock, login, connectOld, [Symbol.asyncDispose]: () => all[Symbol.asyncDispose]() };
}

test('a device that the station has keeps its login until the new one was written', async () => {
  await using all = await withKnownDevice();
  await using old = await all.connectOld();
  const id = await all.add('lamp-1', { wifi, name: 'New name' });
  const write = await all.write();
  await using beside = await all.connectOld();
  write.end({ ok: true });
  await until('its old connections ended', () => !old.client.connected && !beside.client.connected);
  await assert.rejects(all.connectOld());
  await using lamp = await all.connect(write.payload);
  await lamp.publish('handshake', handshake);
  assert.equal((await all.reaches(id, 'succeeded')).deviceId, all.login.id);
  const [device, ...others] = await all.devices();
  assert.deepEqual([device?.id, device?.name, others], [all.login.id, 'New name', []]);
});

test('a device that the station has keeps its login, name and zone when the write fails', async () => {
  await using all = await withKnownDevice();
  const id = await all.add();
  const write = await all.write();
  write.end({ ok: false, error: 'connect_failed' });
  await all.reaches(id, 'failed');
  await using old = await all.connectOld();
  await old.publish('handshake', handshake);
  assert.equal((await all.devices())[0]?.name, 'lamp-1');
});

test('a device that the station has is not locked out by a write that had reached it', async () => {
  await using all = await withKnownDevice();
  const failed = await all.add();
  const first = await all.write();
  first.end({ ok: false, error: 'disconnected' });
  await all.reaches(failed, 'failed');
  await using lamp = await all.connect(first.payload);
  await lamp.publish('handshake', handshake);
  await until('it is online', async () => (await all.devices())[0]?.status === 'online');
  await assert.rejects(all.connectOld());
  const id = await all.add();
  const second = await all.write(2);
  second.end({ ok: true });
  await all.reaches(id, 'waiting');
  await using again = await all.connect(second.payload);
  await again.publish('handshake', handshake);
  await all.reaches(id, 'succeeded');
  await assert.rejects(all.connect(first.payload));
});

test('a handshake with the old login does not end the adding of a device that the station has', async () => {
  await using all = await withKnownDevice();
  const id = await all.add();
  const write = await all.write();
  await all.reaches(id, 'writing');
  await using old = await all.connectOld();
  await old.publish('handshake', handshake);
  await until('it is answered', () => old.received.length > 0);
  await all.reaches(id, 'writing');
  // It got the new one although the radio did not see it.
  await using lamp = await all.connect(write.payload);
  await until('the old connection ended', () => !old.client.connected);
  await lamp.publish('handshake', handshake);
  await all.reaches(id, 'succeeded');
  await assert.rejects(all.connectOld());
});

test('a device that the station has keeps the new login when it comes too late', async () => {
  await using all = await withKnownDevice();
  const id = await all.add();
  const write = await all.write();
  write.end({ ok: true });
  await all.reaches(id, 'waiting');
  all.clock.put(61_000);
  await all.add('lamp-2');
  await all.reaches(id, 'timed_out');
  await using lamp = await all.connect(write.payload);
  await lamp.publish('handshake', handshake);
  await until('it is online', async () => (await all.devices())[0]?.status === 'online');
});

test('a write that is cancelled too late still gives a device of the station its login', async () => {
  await using all = await withKnownDevice();
  const id = await all.add();
  const write = await all.write();
  await all.reaches(id, 'writing');
  await all.call('DELETE', `/api/provisioning/${id}`);
  write.end({ ok: true });
  await until('it can log in', async () => {
    const lamp = await all.connect(write.payload).catch(() => null);
    await lamp?.[Symbol.asyncDispose]();
    return lamp !== null;
  });
  await all.reaches(id, 'cancelled');
});

test('a device that was removed here is added again, and never told to erase itself', async () => {
  await using all = await withKnownDevice();
  await using old = await all.connectOld();
  await old.publish('handshake', handshake);
  await until('it is online', async () => (await all.devices())[0]?.status === 'online');
  await all.call('DELETE', `/api/devices/${all.login.id}`);
  await until('it was told', () => old.received.some(({ body }) => body['action'] === 'factory_reset'));
  const id = await all.add();
  const write = await all.write();
  const before = old.received.length;
  // Its old login is remembered, for the reset. Its handshake is not the one that is waited for.
  await old.publish('handshake', handshake);
  await all.reaches(id, 'writing');
  assert.equal(old.received.length, before);
  write.end({ ok: true });
  await all.reaches(id, 'waiting');
  await using lamp = await all.connect(write.payload);
  await lamp.publish('heartbeat', { status: 'online' });
  await lamp.publish('handshake', handshake);
  await all.reaches(id, 'succeeded');
  await until('it is answered', () => lamp.received.length > 0);
  assert.deepEqual(
    lamp.received.map(({ body }) => body),
    [{ status: 'ok' }],
  );
  assert.equal(await all.db.selectFrom('removed_devices').selectAll().executeTakeFirst(), undefined);
  await assert.rejects(all.connectOld());
});

test('a device that is removed while it is added is not added again by its handshake', async () => {
  await using all = await withKnownDevice();
  const id = await all.add();
  const write = await all.write();
  write.end({ ok: true });
  await all.reaches(id, 'waiting');
  await all.call('DELETE', `/api/devices/${all.login.id}`);
  await all.reaches(id, 'cancelled');
  assert.deepEqual(await all.devices(), []);
});

test('after a restart a write that ran failed, and what waited goes on', async () => {
  await using folder = await temporaryFolder();
  const dataDir = `${folder.path}/data`;
  // Both backends use it.
  await using _database = postgresUrl === null ? null : await postgresDatabase(postgresUrl, dataDir);
  const radio = () => simulateRadio(...[1, 2, 3].map((n) => ({ externalId: `lamp-${n}` })));
  const before = await provisioningStation({ dataDir, radio: radio() });
  const waiting = await before.add('lamp-1');
  const first = await before.write();
  first.end({ ok: true });
  await before.reaches(waiting, 'waiting');
  const writing = await before.add('lamp-2');
  const second = await before.write(2);
  await before.reaches(writing, 'writing');
  const queued = await before.add('lamp-3');
  await before[Symbol.asyncDispose]();
  const headers = before.headers;
  await using after = await provisioningStation({ dataDir, radio: radio(), headers });
  assert.equal((await after.reaches(writing, 'failed')).error, 'interrupted');
  await assert.rejects(after.connect(second.payload));
  const third = await after.write();
  assert.equal(third.payload['device_id'], 'lamp-3');
  third.end({ ok: true });
  for (const [id, { payload }] of [[waiting, first] as const, [queued, third] as const]) {
    await using lamp = await after.connect(payload);
    await lamp.publish('handshake', handshake);
    await after.reaches(id, 'succeeded');
  }
});
