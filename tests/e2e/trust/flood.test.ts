import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connectDevice } from '@station/backend/testing/test-device';
import { findFreePort } from '@station/kit/free-port';
import { createCaddy, type Caddy } from '../../rig/caddy.ts';
import { waitFor } from '../../rig/program.ts';
import { flood, halfConnect, halfMessage, halfRequest, limitOf, peakOf, type Unfinished } from '../../rig/strangers.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { install, owner as household, stationId, type Installation } from '../backend/installation.ts';

// Somebody in the home network without any login sends what never ends, from one address. On a station they reach the proxy and the
// broker; here also the backend itself, as if there were no proxy.

const mebibyte = 1024 * 1024;

describe('a flood of strangers', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let station: Installation;
  let proxy: Caddy;
  let proxyPort = 0;
  let backendPort = 0;

  before(async () => {
    const workspace = life.use(await createWorkspace());
    // As the image sets them: they bound what the engine leaves uncollected.
    const env = { NODE_OPTIONS: '--max-semi-space-size=4', MALLOC_ARENA_MAX: '1' };
    station = life.use(await install('Mosquitto and SQLite', { devices: 4, env }));
    await station.startBackend();
    await station.logIn();
    backendPort = Number(new URL(station.url).port);
    proxyPort = await findFreePort();
    const backendUrl = station.url;
    proxy = await createCaddy(workspace, { port: proxyPort, backendUrl, firmwareFolder: workspace.folder });
  });
  after(() => life.disposeAsync());

  const ownerLogsIn = async (): Promise<void> => {
    const { email, password } = household;
    const answer = await fetch(`http://127.0.0.1:${proxyPort}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    assert.equal(answer.status, 200, await answer.text());
  };
  const expectMemory = async (service: string, pid: number): Promise<void> => {
    const peak = await peakOf(pid);
    const limit = await limitOf(service);
    assert.ok(peak < 0.9 * limit, `${service} had ${peak.toFixed(0)} MiB of ${limit}`);
  };
  const at = (port: number) => ({ port, host: '127.0.0.1' });
  const requests = (port: number): [string, number, Unfinished][] => {
    const host = `127.0.0.1:${port}`;
    const upload = `PUT /api/backup/uploads/${'A'.repeat(43)}?offset=0`;
    const octets = { 'content-type': 'application/octet-stream' };
    return [
      ['log-ins without their end', 600, halfRequest('POST /api/auth/login', { host, bytes: 4096, sent: 4095 })],
      [
        'bodies that need a permission',
        100,
        halfRequest('POST /api/automations', { host, bytes: 200_000, sent: 199_999 }),
      ],
      ['uploads', 150, halfRequest(upload, { host, bytes: mebibyte, sent: mebibyte - 1, headers: octets })],
      ['messages before the log-in', 300, halfMessage(host)],
      ['heads without their end', 300, { head: `GET / HTTP/1.1\r\nHost: ${'x'.repeat(3_000)}` }],
    ];
  };

  it('at the backend leaves it within its memory, and the owner is answered', async () => {
    for (const [name, count, unfinished] of requests(backendPort)) {
      await using _flood = await flood(at(backendPort), count, unfinished);
      await ownerLogsIn().catch((error: unknown) => assert.fail(`${name}: ${String(error)}`));
    }
    await expectMemory('backend', station.pid());
  });

  it('at the proxy leaves it within its memory, and the owner is answered', async () => {
    for (const [name, count, unfinished] of requests(proxyPort)) {
      await using _flood = await flood(at(proxyPort), count, unfinished);
      await ownerLogsIn().catch((error: unknown) => assert.fail(`${name}: ${String(error)}`));
    }
    await expectMemory('proxy', proxy.pid());
    await expectMemory('backend', station.pid());
  });

  it('at the broker leaves it within its memory, and a device logs in', async () => {
    const { mosquitto } = station;
    assert.ok(mosquitto);
    await using _flood = await flood(at(mosquitto.port), 500, halfConnect());
    const { externalId, token } = station.logins[3] ?? assert.fail();
    // The broker may refuse somebody while its memory is full; a device tries again.
    await using device = await waitFor('the log-in of a device', () =>
      connectDevice(station.mqttUrl, { stationId, id: '', externalId, token }),
    );
    await device.publish('handshake', { type: 'light', firmwareVersion: '1.2.3', chip: 'esp32' });
    await waitFor('the answer', () => device.received.some(({ body }) => body['status'] === 'ok'));
    await expectMemory('mqtt', mosquitto.pid());
  });
});
