import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createPasswordHashes } from '@station/backend/people/password-hashes';
import { bearer, owner, runBackend, type RunningBackend } from '@station/backend/testing/running-backend';
import { addDevice, connectDevice, type TestDevice } from '@station/backend/testing/test-device';
import { temporaryFolder } from '@station/backend/testing/temporary-folder';
import { until } from '@station/backend/testing/until';
import { legacyMessageTypes } from '@station/protocol/cloud-messages';
import { cloudMethods } from '@station/protocol/cloud-rpc';
import { conformanceChecks, type Check, type Home, type KnownPasswords, type CheckContext } from './conformance.ts';
import { startReferenceCloud } from './reference-cloud.ts';

const running = new AsyncDisposableStack();
let backend: RunningBackend;
let context: CheckContext;
let ownerToken: string;
const checks = new Map<string, Check>();

describe('the conformance checks', () => {
  before(async () => {
    const cloud = running.use(await startReferenceCloud({}));
    const { path: dataDir } = running.use(await temporaryFolder());
    let isStarted = Promise.resolve();
    const start = async (): Promise<void> => {
      backend = await runBackend({
        dataDir,
        env: { CLOUD_HOST: cloud.host },
        onReset: () => {
          isStarted = Promise.resolve(backend[Symbol.asyncDispose]()).then(start);
        },
      });
    };
    await start();
    // A station connects to the cloud before it is completely ready.
    running.defer(() => isStarted.then(() => backend[Symbol.asyncDispose]()));
    const { accessToken } = await backend.setUp();
    ownerToken = accessToken;
    const { backend: inside } = backend;
    const login = await addDevice(inside.db, 'porch', 'pir');
    const device: TestDevice = running.use(await connectDevice(inside.mqttAddress ?? '', login));
    await device.publish('heartbeat', { status: 'online' });
    const commands = () => device.received.filter(({ topic }) => topic.endsWith('/command')).map(({ body }) => body);
    const home: Home = {
      ...homeOf(() => backend, accessToken),
      device: login.externalId,
      deviceCommands: () => Promise.resolve(commands() as { action: string }[]),
      publishEvent: async (data) => void (await device.publish('event', { event: 'device_event', data })),
    };
    await until('the station waits for the claim', () => cloud.waiting().length === 1);
    const [waiting] = cloud.waiting();
    assert.ok(cloud.claim(waiting?.chipId ?? '', waiting?.claimSecret ?? '') !== null);
    await cloud.connection();
    context = { cloud, home };
    for (const check of conformanceChecks(await knownPasswords())) checks.set(check.name, check);
  });
  after(() => running.disposeAsync());

  function homeOf(
    current: () => RunningBackend,
    ownerToken: string,
  ): Pick<Home, 'stationName' | 'members' | 'canLogIn'> {
    let headers = bearer(ownerToken);
    /** The cloud transfers the ownership: the former owner logs in again. */
    const get = async (url: string) => {
      const answer = await current().http.inject({ url, headers });
      if (answer.statusCode !== 401) return answer.json();
      const { email, password } = owner;
      const payload = { email, password };
      const login = await current().http.inject({ method: 'POST', url: '/api/auth/login', payload });
      headers = bearer(login.json().accessToken);
      return (await current().http.inject({ url, headers })).json();
    };
    return {
      stationName: async () => (await get('/api/station')).name,
      members: () => get('/api/station/members'),
      canLogIn: async (email, password) => {
        const payload = { email, password };
        const { statusCode } = await current().http.inject({ method: 'POST', url: '/api/auth/login', payload });
        return statusCode === 200;
      },
    };
  }

  async function knownPasswords(): Promise<KnownPasswords> {
    const { hash } = createPasswordHashes();
    const texts = ['from the cloud 1', 'from the cloud 2'];
    return Promise.all(texts.map(async (password) => ({ password, hash: await hash(password) })));
  }

  /** Every row of the two tables. Each check prepares the next one. */
  const rows = [
    'device.command',
    'devices.snapshot',
    'device_types.list',
    'scenes.list',
    'scene.run',
    'station.setActiveChannels',
    'identity_sync',
    'station_renamed',
    'member_added',
    'member_updated',
    'station_password_changed',
    'member_removed',
    'station_reset',
  ];

  test('there is a check for each row of the specification’s cloud tables', () => {
    const named = [...Object.keys(cloudMethods), ...legacyMessageTypes].sort();
    assert.deepEqual([...checks.keys()].sort(), named);
    assert.deepEqual([...rows].sort(), named);
  });

  test('a scene of the household is run once under its key', async () => {
    const { backend: inside, http } = backend;
    const light = await addDevice(inside.db, 'lamp', 'light');
    await using lamp = await connectDevice(inside.mqttAddress ?? '', light);
    await lamp.publish('heartbeat', { status: 'online' });
    const headers = bearer(ownerToken);
    const isOnline = async () => {
      const devices = (await http.inject({ url: '/api/devices', headers })).json<{ id: string; status: string }[]>();
      return devices.some(({ id, status }) => id === light.id && status === 'online');
    };
    await until('the lamp is online', isOnline);
    const payload = { name: 'Evening', commands: [{ deviceId: light.id, action: 'turn_on' }] };
    const added = await http.inject({ method: 'POST', url: '/api/scenes', headers, payload });
    assert.equal(added.statusCode, 201, added.body);
    const sceneId = added.json<{ id: string }>().id;

    const link = await context.cloud.connection();
    assert.deepEqual(await link.call('scenes.list'), { scenes: [added.json()] });
    const run = () => link.call('scene.run', { sceneId, idempotencyKey: 'evening-1' });
    assert.deepEqual(await run(), { sent: [light.id], failed: [] });
    assert.deepEqual(await run(), { sent: [light.id], failed: [], repeated: true });
    await until('the lamp has the command', () => lamp.received.some(({ body }) => body['action'] === 'turn_on'));
    assert.equal(lamp.received.filter(({ body }) => body['action'] === 'turn_on').length, 1);
  });

  for (const name of rows) test(name, () => checks.get(name)!.run(context));
});
