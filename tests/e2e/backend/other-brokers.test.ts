import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { test } from 'node:test';
import { Aedes } from 'aedes';
import type { IClientOptions } from 'mqtt';
import { connectDevice, type TestDevice } from '@station/backend/testing/test-device';
import { latestState } from '../../rig/latest-state.ts';
import { waitFor } from '../../rig/program.ts';
import { install, stationId, type Installation } from './installation.ts';

/** The fourth of the virtual devices is a lamp. */
async function connectLamp(station: Installation, url: string, options: IClientOptions = {}): Promise<TestDevice> {
  const login = station.logins[3];
  assert.ok(login);
  const { externalId, token } = login;
  return waitFor('its login', () => connectDevice(url, { stationId, id: '', externalId, token }, options));
}

/** Handshake, state, command, confirmation. */
async function live(station: Installation, lamp: TestDevice): Promise<void> {
  await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.2.3', chip: 'esp32' });
  await waitFor('the answer', () => lamp.received.some(({ body }) => body['status'] === 'ok'));
  await lamp.publish('state', { state: { on: false } });
  await waitFor('its state', async () => (await lampRow(station)).state === '{"on":false}');
  const { id } = await lampRow(station);
  const token = await station.logIn();
  const answer = await fetch(`${station.url}/api/devices/${id}/command`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ action: 'turn_on' }),
  });
  assert.equal(answer.status, 202);
  await waitFor('the command', () => lamp.received.find(({ body }) => body['action'] === 'turn_on'));
}

async function lampRow(station: Installation): Promise<{ id: string; state: string }> {
  const name = station.logins[3]?.externalId ?? '';
  const state = station.env['DATABASE_URL'] === undefined ? latestState : 'state';
  const [row] = await station.query<{ id: string; state: string }>(
    `select id, ${state} as state from devices where external_id = '${name}'`,
  );
  assert.ok(row);
  return row;
}

/** A broker without authentication that supports MQTT 3.1.1 at most. It records the requested versions. */
async function startOldBroker() {
  const broker = await Aedes.createBroker();
  const versions: (number | undefined)[] = [];
  const server = createServer((socket: Socket) => {
    // The version is the byte after the protocol's name (MQTT 3.1.1, section 3.1.2.2).
    socket.once('data', (bytes: Buffer) => versions.push(bytes[bytes.indexOf('MQTT') + 4]));
    broker.handle(socket);
  });
  broker.on('connectionError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const dispose = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    await new Promise<void>((resolve) => broker.close(resolve));
    await closed;
  };
  return { url, versions, [Symbol.asyncDispose]: dispose };
}

test('works with a broker of MQTT 3.1.1, which queues messages while the backend is stopped', async () => {
  await using broker = await startOldBroker();
  const env = { MQTT_URL: broker.url };
  await using station = await install('the embedded broker and SQLite', { devices: 4, env });
  await station.startBackend();
  await using lamp = await connectLamp(station, broker.url);
  await live(station, lamp);
  await station.stopBackend('SIGKILL');
  for (let n = 0; n < 50; n++) await lamp.publish('event', { event: 'device_event', data: { action: 'counted', n } });
  await station.startBackend();
  await waitFor('the queued messages', async () => {
    const rows = await station.query<{ data: string }>('select data from device_events');
    return new Set(rows.map(({ data }) => (JSON.parse(data) as { n?: number }).n)).size === 50;
  });
  assert.ok(broker.versions.includes(5), 'MQTT 5 is requested first');
  assert.deepEqual(await station.logged('unexpected_error'), []);
});

test('connects to Mosquitto with TLS only with the certificates of MQTT_CA_FILE', async () => {
  await using station = await install('Mosquitto and PostgreSQL', { devices: 4, tls: true });
  await station.startBackend();
  const { tls } = station.mosquitto ?? {};
  assert.ok(tls);
  const ca = await readFile(tls.caFile);
  await using lamp = await connectLamp(station, `mqtts://127.0.0.1:${tls.port}`, { ca });
  await live(station, lamp);
  const [connected] = await station.logged('mqtt_connected');
  assert.equal(connected?.['broker'], `127.0.0.1:${tls.port}`);
  await station.mosquitto?.stop('SIGKILL');
  await station.mosquitto?.start();
  await waitFor('the backend to be online again', async () => (await station.logged('mqtt_connected')).length === 2);

  const env = { MQTT_URL: `mqtts://127.0.0.1:${tls.port}` };
  await using other = await install('the embedded broker and SQLite', { devices: 1, env });
  await other.startBackend('anyway');
  const health = await fetch(`${other.url}/api/health`);
  assert.equal(health.status, 503);
  const [refused] = await other.logged('mqtt_disconnected');
  assert.match(String(refused?.['reason']), /self-signed certificate/);
  assert.deepEqual(await other.logged('mqtt_connected'), []);
});
