import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { connectAsync } from 'mqtt';
import type { CloudStatus } from '@station/protocol/cloud';
import type { Session } from '@station/protocol/rest';
import { startReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';
import { findFreePort } from '@station/kit/free-port';
import { waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { makeCertificates } from './certificates.ts';
import { claimBy } from './living-station.ts';
import { superviseBackend, type Supervised } from './supervised.ts';
import { upTo } from './station.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';
const login = { externalId: 'porch', type: 'pir', name: 'Porch', token: 'a-token-of-the-porch-that-is-long-enough' };

/** A process manager with a backend, and a cloud over TLS. */
async function processStation(workspace: Workspace, env: Record<string, string> = {}) {
  const certificates = await makeCertificates(workspace.folder);
  const cloud = workspace.own(await startReferenceCloud({ tls: certificates.tls }));
  const backend = workspace.own(
    await superviseBackend(workspace, {
      STATION_ID: stationId,
      CLOUD_HOST: cloud.host,
      CLOUD_CA_FILE: certificates.caFile,
      devices: [login],
      ...env,
    }),
  );
  return { certificates, cloud, backend };
}

async function ownerToken(backend: Supervised): Promise<string> {
  const code = (await readFile(join(backend.dataDir, 'setup-code'), 'utf8')).trim();
  const payload = { code, email: 'olena@example.org', password: 'correct horse battery', name: 'Olena' };
  const session = (await backend.post('/api/auth/setup', payload)) as Session;
  return session.accessToken;
}

const statusOf = (backend: Supervised, token: string): Promise<CloudStatus> =>
  backend.get('/api/cloud/status', token) as Promise<CloudStatus>;

const conditionsOf = async (backend: Supervised, token: string): Promise<string[]> =>
  (await statusOf(backend, token)).conditions.map(({ id }) => id);

/** A device that repeats each event until the station acknowledges it, also after restarts. */
async function sayEvents(mqttPort: number, count: number, between: (n: number) => Promise<void>): Promise<void> {
  const topic = `station/${stationId}/device/${login.externalId}/event`;
  const connect = () =>
    connectAsync(`mqtt://127.0.0.1:${mqttPort}`, {
      username: login.externalId,
      password: login.token,
      reconnectPeriod: 0,
      connectTimeout: 2_000,
    });
  for (const n of upTo(count)) {
    for (let done = false; !done;) {
      try {
        const client = await connect();
        client.on('error', () => undefined);
        const message = JSON.stringify({ event: 'device_event', data: { action: 'motion_detected', n } });
        const closed = new Promise<never>((_, reject) => client.once('close', () => reject(new Error('closed'))));
        await Promise.race([client.publishAsync(topic, message, { qos: 1 }), closed]);
        done = true;
        await client.endAsync(true);
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
    await between(n);
  }
}

// Concurrent, because the first test mostly waits.
describe('a backend in its own process', { concurrency: 2 }, () => {
  it('detects a half-open link by the first ping without a pong, and repeats the messages', async () => {
    await using workspace = await createWorkspace();
    const mqttPort = await findFreePort();
    const { cloud, backend } = await processStation(workspace, { MQTT_PORT: String(mqttPort) });
    await claimBy(cloud);
    const dead = await cloud.connection();
    // Frames are lost and no pong arrives, as with a router that has dropped the connection.
    cloud.options.pongs = false;
    cloud.options.isMute = true;
    const pingsBefore = cloud.pings.length;
    const logins = cloud.logins();
    await sayEvents(mqttPort, 5, async () => undefined);
    await waitFor('the station to end the link', () => !dead.isOpen(), 120_000);
    // The time limit is tested with a virtual clock (link-decide.test.ts).
    assert.equal(cloud.pings.length - pingsBefore, 1, 'it waits for one pong');
    const isReasonLogged = async () => (await backend.log()).includes('The cloud did not answer a ping.');
    await waitFor('the reason in the log', isReasonLogged);
    cloud.options.pongs = true;
    cloud.options.isMute = false;
    await waitFor('another login', () => cloud.logins() > logins);
    const heard = () =>
      new Set(cloud.received.flatMap(({ params }) => (params['data'] as { n?: number } | undefined)?.n ?? []));
    await waitFor('the events at the cloud', () => heard().size === 5);
  });

  it('delivers every acknowledged event to the cloud after repeated kills', async () => {
    await using workspace = await createWorkspace();
    const mqttPort = await findFreePort();
    const { cloud, backend } = await processStation(workspace, { MQTT_PORT: String(mqttPort) });
    await claimBy(cloud);
    const count = 60;
    await sayEvents(mqttPort, count, async (n) => {
      if (n % 12 === 5) backend.kill();
      if (n % 12 === 9) void cloud.connection().then((link) => link.cut());
    });
    const heard = () =>
      new Set(cloud.received.flatMap(({ params }) => (params['data'] as { n?: number } | undefined)?.n ?? []));
    await waitFor('every event at the cloud', () => heard().size === count, 90_000);
    assert.ok(backend.starts() >= 5, `${backend.starts()} starts`);
  });

  it('station_reset: acknowledges, resets the devices, exits with 0 and starts unclaimed', async () => {
    await using workspace = await createWorkspace();
    const mqttPort = await findFreePort();
    const { cloud, backend } = await processStation(workspace, { MQTT_PORT: String(mqttPort) });
    await claimBy(cloud);
    const device = await connectAsync(`mqtt://127.0.0.1:${mqttPort}`, {
      username: login.externalId,
      password: login.token,
    });
    device.on('error', () => undefined);
    const receivedActions: string[] = [];
    device.on(
      'message',
      (_topic, payload) => void receivedActions.push((JSON.parse(String(payload)) as { action: string }).action),
    );
    await device.subscribeAsync(`station/${stationId}/device/${login.externalId}/command`, { qos: 1 });
    (await cloud.connection()).send({ type: 'station_reset' });
    await waitFor('the acknowledgement', () => cloud.frames.some(({ text }) => text.includes('station_reset_ack')));
    await waitFor('the command at the device', () => receivedActions.includes('factory_reset'));
    await waitFor('the backend to end', () => backend.exits().includes(0));
    const again = await waitFor('the station to wait for a claim', () => cloud.waiting()[0]);
    assert.equal(again.chipId, stationId);
    await device.endAsync(true);
  });

  it('station_reset completes while the broker is offline and no device can be reached', async () => {
    await using workspace = await createWorkspace();
    const nobody = await findFreePort();
    const { cloud, backend } = await processStation(workspace, { MQTT_URL: `mqtt://127.0.0.1:${nobody}` });
    await claimBy(cloud);
    (await cloud.connection()).send({ type: 'station_reset' });
    await waitFor('the backend to end', () => backend.exits().includes(0));
    const phases = (await backend.log()).split('\n').filter((line) => line.includes('"cloud_station_reset"'));
    const reached = phases.map((line) => JSON.parse(line) as { phase: string; devices: number; reached: number });
    // The limit of ten seconds is tested with a virtual clock (legacy-messages.test.ts).
    assert.deepEqual(
      reached.map(({ phase, devices, reached: count }) => [phase, devices, count]),
      [
        ['begun', 1, 0],
        ['done', 1, 0],
      ],
    );
    await waitFor('the station to wait for a claim', () => cloud.waiting()[0]);
  });

  it('continues a reset after a kill at the next start', async () => {
    await using workspace = await createWorkspace();
    const nobody = await findFreePort();
    const { cloud, backend } = await processStation(workspace, { MQTT_URL: `mqtt://127.0.0.1:${nobody}` });
    const token = await claimBy(cloud);
    (await cloud.connection()).send({ type: 'station_reset' });
    await waitFor('the acknowledgement', () => cloud.frames.some(({ text }) => text.includes('station_reset_ack')));
    backend.kill();
    await waitFor('the station to wait for a claim', () => cloud.waiting()[0]);
    assert.ok(cloud.frames.filter(({ text }) => text.includes(token)).length <= 1, 'the old token is not used again');
  });

  it('refuses a certificate that does not verify or has no pinned key, and reports the reason', async () => {
    await using workspace = await createWorkspace();
    // A workaround for another program (disabled TLS checks) must not open the station.
    const blind = { CLOUD_CA_FILE: '', NODE_TLS_REJECT_UNAUTHORIZED: '0' };
    const { backend: distrusting } = await processStation(workspace, blind);
    const token = await ownerToken(distrusting);
    const distrusted = await waitFor('the reason', async () => (await statusOf(distrusting, token)).lastError);
    assert.match(distrusted, /certificate/);
    assert.deepEqual(await conditionsOf(distrusting, token), ['cloud_certificate_untrusted']);
    await using other = await createWorkspace();
    const { backend: pinned } = await processStation(other, { CLOUD_TLS_PINS: `${'A'.repeat(43)}=` });
    const pinnedToken = await ownerToken(pinned);
    const reason = await waitFor('the reason', async () => (await statusOf(pinned, pinnedToken)).lastError);
    assert.equal(reason, 'No certificate of the cloud has a pinned key.');
    assert.deepEqual(await conditionsOf(pinned, pinnedToken), ['cloud_certificate_untrusted']);
  });

  it('retries a revoked token slowly, connects when it is restored, and logs neither token nor secret', async () => {
    await using workspace = await createWorkspace();
    const { cloud, backend } = await processStation(workspace);
    const user = await ownerToken(backend);
    const token = await claimBy(cloud);
    const secret = /"claimSecret":"([^"]+)"/.exec(cloud.frames.map(({ text }) => text).join('\n'))?.[1] ?? '';
    assert.ok(secret.length > 20);
    cloud.revoke(token);
    (await cloud.connection()).close(1012, 'restarting');
    const rejected = await waitFor(
      'the rejection',
      async () => {
        const status = await statusOf(backend, user);
        return status.state === 'rejected' && status.nextAttemptAt !== null ? status : null;
      },
      60_000,
    );
    const wait = Date.parse(rejected.nextAttemptAt ?? '') - Date.now();
    assert.ok(wait > 3.5 * 60_000 && wait <= 6 * 60_000, `${wait} ms`);
    cloud.restore(token);
    backend.kill();
    await cloud.connection();
    const log = await backend.log();
    assert.ok(log.includes('cloud_rejected'));
    assert.ok(!log.includes(token) && !log.includes(secret));
  });
});
