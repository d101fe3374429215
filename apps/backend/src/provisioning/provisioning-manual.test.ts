import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DeviceEvent } from '@station/protocol/devices';
import type { DeviceLoginSheet, ManualProvisionings } from '@station/protocol/provisioning';
import { WebSocket } from 'ws';
import { provisioningStation, handshake, wifi } from '../../testing/provisioning-station.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { simulateRadio } from '../../testing/simulated-radio.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

type Station = Awaited<ReturnType<typeof provisioningStation>>;

async function addManually({ call }: Station, ...devices: object[]): Promise<ManualProvisionings> {
  const added = await call('POST', '/api/provisioning/manual', { devices });
  assert.equal(added.statusCode, 201, added.body);
  return added.json<ManualProvisionings>();
}

test('logins made for a list of devices work, in the order of the list', async () => {
  await using all = await provisioningStation();
  const devices = [1, 2, 3].map((n) => ({ externalId: `new-${n}`, type: 'light', name: `Lamp ${n}` }));
  const made = await addManually(all, ...devices);
  assert.deepEqual(
    made.map(({ login, provisioning }) => [login.device_id, provisioning.name, provisioning.status]),
    devices.map(({ externalId, name }) => [externalId, name, 'waiting']),
  );
  const [{ login, provisioning }] = made as [ManualProvisionings[number]];
  assert.equal(Date.parse(provisioning.endsAt ?? '') - Date.parse(provisioning.startedAt), 60 * 60_000);
  assert.equal(`mqtt://${login.mqtt_host}:${login.mqtt_port}`, all.running.backend.mqttAddress);
  await using lamp = await all.connect(login);
  await lamp.publish('handshake', { ...handshake, type: 'pir' });
  await all.reaches(provisioning.id, 'succeeded');
  const [device, ...others] = await all.devices();
  assert.deepEqual([device?.name, device?.type, others], ['Lamp 1', 'pir', []]);
  const activity = async () => (await all.call('GET', '/api/activity?about=devices')).json<DeviceEvent[]>();
  await until('who added it is in the activity', async () => (await activity()).length > 0);
  assert.deepEqual(
    (await activity()).map(({ kind, data, by }) => [kind, data, by?.kind]),
    [['device_added', { deviceId: device?.id, name: 'Lamp 1' }, 'person']],
  );
  assert.ok(!all.running.logger.lines.some((line) => line.includes(login.device_token)));
});

test('a type may have underscores in its name', async () => {
  await using all = await provisioningStation();
  const [made] = await addManually(all, { externalId: 'soil-1', type: 'soil_sensor', name: 'Soil' });
  assert.ok(made);
  await using soil = await all.connect(made.login);
  await soil.publish('handshake', { ...handshake, type: 'soil_sensor' });
  await all.reaches(made.provisioning.id, 'succeeded');
  assert.deepEqual(
    (await all.devices()).map(({ type }) => type),
    ['soil_sensor'],
  );
});

test('all of a list or none: one that is being added, a wrong id and a wrong zone refuse it', async () => {
  await using all = await provisioningStation();
  await addManually(all, { externalId: 'one', type: 'light' });
  const refused = async (...devices: object[]) =>
    (await all.call('POST', '/api/provisioning/manual', { devices })).json<{ code: string }>().code;
  const two = { externalId: 'two', type: 'light' };
  assert.equal(await refused(two, { externalId: 'one', type: 'light' }), 'conflict');
  assert.equal(await refused(two, two), 'validation_failed');
  assert.equal(await refused(two, { externalId: 'a/b', type: 'light' }), 'validation_failed');
  assert.equal(await refused(two, { ...two, externalId: 'three', zoneId: crypto.randomUUID() }), 'validation_failed');
  assert.equal(await refused(two, { externalId: 'three', type: 'A light' }), 'validation_failed');
  assert.equal(await refused(), 'validation_failed');
  assert.equal((await all.view()).provisionings.length, 1);
});

test('a cancelled login is refused', async () => {
  await using all = await provisioningStation();
  const [made] = await addManually(all, { externalId: 'one', type: 'light' });
  await using lamp = await all.connect(made!.login);
  await all.call('DELETE', `/api/provisioning/${made!.provisioning.id}`);
  await until('its connection ended', () => !lamp.client.connected);
  await assert.rejects(all.connect(made!.login));
});

test('a device that the station has keeps its login until the new one is used', async () => {
  await using all = await provisioningStation();
  const login = await addDevice(all.db, 'lamp-1', 'light');
  const connectOld = () => connectDevice(all.running.backend.mqttAddress ?? '', login);
  const [made] = await addManually(all, { externalId: 'lamp-1', type: 'light' });
  await using old = await connectOld();
  await old.publish('handshake', handshake);
  await until('it is answered', () => old.received.length > 0);
  await all.reaches(made!.provisioning.id, 'waiting');
  await using lamp = await all.connect(made!.login);
  await until('the old connection ended', () => !old.client.connected);
  await assert.rejects(connectOld());
  await lamp.publish('handshake', handshake);
  const ended = await all.reaches(made!.provisioning.id, 'succeeded');
  assert.deepEqual([ended.deviceId, ended.name], [login.id, 'lamp-1']);
});

test('a cancelled login of a device that the station has changes nothing for it', async () => {
  await using all = await provisioningStation();
  const login = await addDevice(all.db, 'lamp-1', 'light');
  const [made] = await addManually(all, { externalId: 'lamp-1', type: 'light' });
  await all.call('DELETE', `/api/provisioning/${made!.provisioning.id}`);
  await assert.rejects(all.connect(made!.login));
  await using old = await connectDevice(all.running.backend.mqttAddress ?? '', login);
  assert.ok(old.client.connected);
});

test('an Improv device gets the Wi-Fi by radio, and its login from a person', async () => {
  const radio = simulateRadio({ externalId: 'plug', protocol: 'improv', deviceType: null, defaultName: 'Plug' });
  await using all = await provisioningStation({ radio });
  const id = await all.add('plug');
  const write = await all.write();
  assert.deepEqual(write.payload, wifi);
  assert.equal(write.command.service_uuid, '00467768-6228-2272-4663-277478268000');
  assert.equal(write.command.characteristic_uuid, '00467768-6228-2272-4663-277478268003');
  const ask = () => all.call('POST', `/api/provisioning/${id}/login`);
  assert.equal((await ask()).statusCode, 409, 'it has no Wi-Fi yet');
  write.end({ ok: true });
  const waiting = await all.reaches(id, 'waiting');
  assert.deepEqual([waiting.method, waiting.deviceType], ['improv', null]);
  assert.equal(Date.parse(waiting.endsAt ?? '') - Date.parse(waiting.changedAt), 60 * 60_000);
  const first = (await ask()).json<DeviceLoginSheet>();
  const second = (await ask()).json<DeviceLoginSheet>();
  await assert.rejects(all.connect(first), 'the second took its place');
  await using plug = await all.connect(second);
  await plug.publish('handshake', handshake);
  await all.reaches(id, 'succeeded');
  assert.deepEqual(
    (await all.devices()).map(({ name, type }) => [name, type]),
    [['Plug', 'light']],
  );
  assert.equal((await ask()).statusCode, 409);
});

test('an Improv device that the station has needs no new login', async () => {
  const radio = simulateRadio({ externalId: 'plug', protocol: 'improv' });
  await using all = await provisioningStation({ radio });
  const login = await addDevice(all.db, 'plug', 'light');
  const id = await all.add('plug');
  (await all.write()).end({ ok: true });
  await all.reaches(id, 'waiting');
  await using plug = await connectDevice(all.running.backend.mqttAddress ?? '', login);
  await plug.publish('handshake', handshake);
  await all.reaches(id, 'succeeded');
});

test('each step is told at /ws, without a secret, and the device when it is added', async () => {
  await using all = await provisioningStation();
  const socket = new WebSocket(`${all.running.backend.url.replace('http', 'ws')}/ws`);
  const received: { type: string; provisioning?: { status: string } }[] = [];
  const token = all.headers['authorization']?.replace('Bearer ', '') ?? '';
  socket.on('open', () => socket.send(JSON.stringify({ type: 'auth', token })));
  socket.on('message', (data: Buffer) => void received.push(JSON.parse(data.toString()) as never));
  await until('it is logged in', () => received.some(({ type }) => type === 'hello'));
  const id = await all.add();
  const write = await all.write();
  await all.reaches(id, 'writing');
  write.end({ ok: true });
  await all.reaches(id, 'waiting');
  await using lamp = await all.connect(write.payload);
  await lamp.publish('handshake', handshake);
  const steps = () => received.flatMap(({ provisioning }) => (provisioning ? [provisioning.status] : []));
  await until('its end is told', () => steps().includes('succeeded'));
  socket.terminate();
  assert.deepEqual(steps(), ['queued', 'writing', 'waiting', 'succeeded']);
  assert.ok(received.some(({ type }) => type === 'device_changed'));
  const text = JSON.stringify(received);
  assert.ok(!text.includes(wifi.password) && !text.includes(String(write.payload['device_token'])));
});

test('devices get the address that the agent reports in the network that they join', async () => {
  await using agent = await simulateAgent();
  const status = { mode: 'client', ssid: wifi.ssid, ip: '192.168.7.20', signal: 70, connectivity: 'full' };
  const hotspot = { active: false, ssid: null, ip: null, clients: 0 };
  const since = new Date(0).toISOString();
  const watchdog = { state: 'CONNECTED', since, attempts: 0, nextRetryAt: null, lastFailure: null };
  const view = { links: [], blocker: null, networks: [], scannedAt: null, joining: null, lastJoin: null };
  const stationAddress = 'http://station.local/';
  agent.answer('/network', 200, { wifi: { ...status, hotspot, watchdog }, ...view, stationAddress, mdnsName: null });
  await using all = await provisioningStation({ env: { AGENT_URL: agent.url } });
  await all.add();
  assert.equal((await all.write()).payload['mqtt_host'], '192.168.7.20');
  assert.equal((await all.view()).broker.host, '127.0.0.1', 'which network they join is not known');
});
