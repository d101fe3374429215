import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { bearer, runBackend, type BackendOptions, type RunningBackend } from '@station/backend/testing/running-backend';
import { temporaryFolder } from '@station/backend/testing/temporary-folder';
import { addDevice, connectDevice } from '@station/backend/testing/test-device';
import { until } from '@station/backend/testing/until';
import type { CloudClaim, CloudStatus } from '@station/protocol/cloud';
import { cloudNotifications, type CloudNotification } from '@station/protocol/cloud-rpc';
import { Value } from 'typebox/value';
import { startReferenceCloud } from './reference-cloud.ts';

async function station() {
  await using starting = new AsyncDisposableStack();
  const cloud = starting.use(await startReferenceCloud({}));
  const backend = starting.use(await runBackend({ env: { CLOUD_HOST: cloud.host } }));
  const { accessToken } = await backend.setUp();
  const get = async (url: string) => (await backend.http.inject({ url, headers: bearer(accessToken) })).json();
  const running = starting.move();
  const status = () => get('/api/cloud/status') as Promise<CloudStatus>;
  return { cloud, backend, accessToken, get, status, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

test('reports each step from the claim to the link on /ws, without secrets', async () => {
  await using all = await station();
  const { cloud, backend } = all;
  const socket = new WebSocket(`${backend.backend.url.replace('http', 'ws')}/ws`);
  const received: string[] = [];
  socket.on('message', (data) => {
    const message = JSON.parse((data as Buffer).toString('utf8')) as { type: string; status?: CloudStatus };
    if (message.type === 'cloud_status') received.push(message.status?.state ?? '');
  });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token: all.accessToken }));
  await until('the status is sent at the beginning', () => received.length > 0);
  assert.equal(received[0], 'unclaimed');
  const claim = (await all.get('/api/cloud/claim')) as CloudClaim;
  await until('the station waits for the claim', () => cloud.waiting().length === 1);
  const token = cloud.claim(claim.chipId, claim.claimSecret);
  await until('the status says that the link is up', () => received.at(-1) === 'authenticated');
  const { state, claimedAt, connectedSince, activeChannels } = await all.status();
  assert.equal(state, 'authenticated');
  assert.ok(claimedAt !== null && connectedSince !== null && activeChannels.length === 8);
  assert.equal(
    (await backend.http.inject({ url: '/api/cloud/claim', headers: bearer(all.accessToken) })).statusCode,
    409,
  );
  const rows = JSON.stringify(await backend.backend.db.selectFrom('cloud_config').selectAll().execute());
  const log = backend.logger.lines.join('\n');
  for (const secret of [token ?? '', claim.claimSecret]) {
    assert.ok(!rows.includes(secret), 'not in the database in clear text');
    assert.ok(!log.includes(secret), 'not in the log');
  }
  socket.close();
});

test('reports a new claim code on /ws, although the link is unchanged', async () => {
  await using all = await station();
  await until('the station waits for the claim', () => all.cloud.waiting().length === 1);
  const socket = new WebSocket(`${all.backend.backend.url.replace('http', 'ws')}/ws`);
  let received = 0;
  socket.on('message', (data) => void (received += (data as Buffer).includes('"cloud_status"') ? 1 : 0));
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token: all.accessToken }));
  await until('the status is sent at the beginning', () => received > 0);
  const old = (await all.get('/api/cloud/claim')) as CloudClaim;
  const before = received;
  const headers = bearer(all.accessToken);
  const answer = await all.backend.http.inject({ method: 'POST', url: '/api/cloud/unclaim', headers });
  assert.equal(answer.statusCode, 204);
  await until('the status is sent', () => received > before);
  assert.notEqual(((await all.get('/api/cloud/claim')) as CloudClaim).claimSecret, old.claimSecret);
  socket.close();
});

test('sends events at home on their channels, in the form of the protocol', async () => {
  await using all = await station();
  const { cloud, backend } = all;
  await until('the station waits for the claim', () => cloud.waiting().length === 1);
  const [waiting] = cloud.waiting();
  cloud.claim(waiting?.chipId ?? '', waiting?.claimSecret ?? '');
  const link = await cloud.connection();
  const login = await addDevice(backend.backend.db, 'porch', 'pir');
  backend.backend.deviceEvents.emit({ kind: 'added', deviceId: login.id, externalId: 'porch' });
  await using device = await connectDevice(backend.backend.mqttAddress ?? '', login);
  await device.publish('heartbeat', { status: 'online' });
  await device.publish('state', { state: { motion: true } });
  await device.publish('event', { event: 'user_event', data: { action: 'button_pressed' } });
  await link.call('device.command', { deviceId: login.id, command: { action: 'reboot' } });
  await backend.http.inject({ method: 'DELETE', url: `/api/devices/${login.id}`, headers: bearer(all.accessToken) });
  const wanted: CloudNotification[] = [
    'device.added',
    'device.statusChanged',
    'device.event',
    'device.commandSent',
    'device.removed',
  ];
  const methods = () => new Set(cloud.received.map(({ method }) => method));
  await until('everything is sent', () => wanted.every((method) => methods().has(method)) && cloud.states.length > 0);
  for (const { method, params } of [...cloud.received, ...cloud.states]) {
    const { params: schema } = cloudNotifications[method as CloudNotification];
    assert.ok(Value.Check(schema, params), `${method} ${JSON.stringify(params)}`);
  }
  assert.equal(methods().size, wanted.length);
});

test('the active channels survive a loss of the link and a restart of the backend', async () => {
  await using folder = await temporaryFolder();
  await using cloud = await startReferenceCloud({});
  const options: BackendOptions = {
    env: { CLOUD_HOST: cloud.host },
    dataDir: join(folder.path, 'data'),
    cloudTuning: { reconnect: { nextMs: () => 20, stable: () => undefined } },
  };
  const backend = await runBackend(options);
  await using _first = backend;
  const { accessToken } = await backend.setUp();
  const channels = async ({ http }: RunningBackend): Promise<string[]> => {
    const answer = await http.inject({ url: '/api/cloud/status', headers: bearer(accessToken) });
    return answer.json<CloudStatus>().activeChannels;
  };
  await until('the station waits for the claim', () => cloud.waiting().length === 1);
  const [waiting] = cloud.waiting();
  cloud.claim(waiting?.chipId ?? '', waiting?.claimSecret ?? '');
  const link = await cloud.connection();
  await link.call('station.setActiveChannels', { channels: ['system', 'status'] });
  assert.deepEqual(await channels(backend), ['status', 'system']);
  link.cut();
  await until('the station is connected again', () => cloud.logins() === 2);
  assert.deepEqual(await channels(backend), ['status', 'system']);
  await backend[Symbol.asyncDispose]();
  await using again = await runBackend(options);
  await until('the station is connected after the restart', () => cloud.logins() === 3);
  assert.deepEqual(await channels(again), ['status', 'system']);
});

test('a disconnect by the owner deletes the token of the cloud and creates a new code', async () => {
  await using all = await station();
  const { cloud, backend } = all;
  const claim = (await all.get('/api/cloud/claim')) as CloudClaim;
  await until('the station waits for the claim', () => cloud.waiting().length === 1);
  cloud.claim(claim.chipId, claim.claimSecret);
  await cloud.connection();
  const headers = bearer(all.accessToken);
  const answer = await backend.http.inject({ method: 'POST', url: '/api/cloud/unclaim', headers });
  assert.equal(answer.statusCode, 204);
  await until('the station waits for a claim again', () => cloud.waiting().length === 1);
  assert.notEqual(cloud.waiting()[0]?.claimSecret, claim.claimSecret);
  assert.equal((await all.status()).state, 'unclaimed');
});
