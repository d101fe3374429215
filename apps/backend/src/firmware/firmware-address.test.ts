import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentOf } from '../../testing/firmware-station.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

test('a device is sent to the name that the station has now, and not to the machine that took its name', async () => {
  await using agent = await simulateAgent();
  const watchdog = {
    state: 'CONNECTED',
    since: new Date(0).toISOString(),
    attempts: 0,
    nextRetryAt: null,
    lastFailure: null,
  };
  const hotspot = { active: false, ssid: null, ip: null, clients: 0 };
  const wifi = {
    mode: 'client',
    ssid: 'Home',
    ip: '192.168.7.20',
    signal: 70,
    connectivity: 'full',
    hotspot,
    watchdog,
  };
  const view = { links: [], blocker: null, networks: [], scannedAt: null, joining: null, lastJoin: null };
  const stationAddress = 'http://station.local/';
  agent.answer('/network', 200, { wifi, ...view, stationAddress, mdnsName: 'station-2.local' });
  const agentToken = 'the-token-of-the-agent';
  const env = { AGENT_URL: agent.url, AGENT_TOKEN: agentToken, PUBLIC_URL: 'http://station.local:8080/' };
  await using running = await runBackend({ env });
  const { http, backend } = running;
  const login = await addDevice(backend.db, 'lamp', 'light');
  await using lamp = await connectDevice(backend.mqttAddress ?? '', login);
  await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' });
  const version = async () =>
    (await backend.db.selectFrom('devices').select('firmware_version').where('id', '=', login.id).executeTakeFirst())
      ?.firmware_version;
  await until('the version is known', async () => (await version()) === '1.0.0');
  const { file, checksum, size } = contentOf('1.1.0', 'light');
  const payload = { name: 'light', version: '1.1.0', file, checksum, size };
  const url = '/api/ota/firmware-ready';
  assert.equal((await http.inject({ method: 'POST', url, headers: bearer(agentToken), payload })).statusCode, 204);
  const orders = () => lamp.received.filter(({ body }) => body['action'] === 'ota_update');
  await until('the command', () => orders().length === 1);
  assert.equal(orders()[0]?.body['url'], 'http://station-2.local:8080/firmware/light@1.1.0.bin');
});
