import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { DeviceCommand } from '@station/protocol/device-commands';
import { maxScenes, type Scene, type SceneRun } from '@station/protocol/scenes';
import { createEventIds } from '../core/event-ids.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { writeReports } from '../history/report-store.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { postgresUrl } from '../../testing/test-postgres.ts';

const nobody = '01890000-0000-7000-8000-000000000000';
const dim = (deviceId: string, brightness: number) => ({ deviceId, action: 'set_brightness', params: { brightness } });

async function withScenes() {
  const running = await runBackend();
  const owner = bearer((await running.setUp()).accessToken);
  const { db } = running.backend;
  const devices = createDeviceStore({ db, clock: systemClock });
  const newId = createEventIds(Date.now);
  const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object, headers = owner) =>
    running.http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  return {
    call,
    addLamp: async (name: string, status: 'online' | 'offline'): Promise<string> => {
      const { id } = await devices.provision({ externalId: `id-${name}`, type: 'light', name, zoneId: null });
      const kind = postgresUrl === null ? 'sqlite' : 'postgres';
      await writeReports({ db, kind }, [{ kind: 'status', deviceId: id, at: 1_000, status }], newId);
      return id;
    },
    list: async (): Promise<Scene[]> => (await call('GET', '/api/scenes')).json<Scene[]>(),
    member: async () => {
      const body = { email: 'maria@example.org', name: 'Maria', role: 'member' };
      const added = (await call('POST', '/api/station/members', body)).json<{ firstPassword: string }>();
      const login = { email: body.email, password: added.firstPassword };
      return bearer((await call('POST', '/api/auth/login', login)).json<{ accessToken: string }>().accessToken);
    },
    [Symbol.asyncDispose]: () => running[Symbol.asyncDispose](),
  };
}

test('a scene is added, changed and removed', async () => {
  await using all = await withScenes();
  const lamp = await all.addLamp('Lamp', 'online');
  const added = await all.call('POST', '/api/scenes', { name: ' Evening ', commands: [dim(lamp, 30)] });
  assert.equal(added.statusCode, 201, added.body);
  const { id } = added.json<Scene>();
  assert.deepEqual(await all.list(), [{ id, name: 'Evening', commands: [dim(lamp, 30)] }]);
  const changed = await all.call('PUT', `/api/scenes/${id}`, { name: 'Night', commands: [dim(lamp, 1)] });
  assert.deepEqual(changed.json<Scene>(), { id, name: 'Night', commands: [dim(lamp, 1)] });
  assert.equal((await all.call('DELETE', `/api/scenes/${id}`)).statusCode, 204);
  assert.deepEqual(await all.list(), []);
  const scene = changed.json<Scene>();
  assert.equal((await all.call('POST', '/api/scenes', scene)).statusCode, 201, 'it is added again under its id');
  assert.deepEqual(await all.list(), [scene]);
  const twice = await all.call('POST', '/api/scenes', { ...scene, name: 'Other' });
  assert.equal(twice.statusCode, 409, twice.body);
  assert.deepEqual(await all.list(), [scene]);
  await all.call('DELETE', `/api/scenes/${id}`);
  for (const [method, path] of [
    ['DELETE', ''],
    ['POST', '/run'],
  ] as const)
    assert.equal((await all.call(method, `/api/scenes/${id}${path}`)).statusCode, 404);
});

test('a run sends all commands; a device that is offline or gone does not stop the others', async () => {
  await using all = await withScenes();
  const lamp = await all.addLamp('Lamp', 'online');
  const cellar = await all.addLamp('Cellar', 'offline');
  const old = await all.addLamp('Old', 'online');
  const commands = [dim(old, 5), dim(cellar, 10), dim(lamp, 30)];
  const { id } = (await all.call('POST', '/api/scenes', { name: 'Evening', commands })).json<Scene>();
  await all.call('DELETE', `/api/devices/${old}`);
  const run = await all.call('POST', `/api/scenes/${id}/run`);
  assert.equal(run.statusCode, 202, run.body);
  assert.deepEqual(run.json<SceneRun>(), {
    sent: [lamp],
    failed: [
      { deviceId: old, reason: 'removed' },
      { deviceId: cellar, reason: 'offline' },
    ],
  });
  const again = await all.call('POST', `/api/devices/${lamp}/command`, { action: 'turn_on' });
  assert.equal(again.json<DeviceCommand>().status, 'pending');
});

test('commands are tried before they are a scene, and only as what a scene may send', async () => {
  await using all = await withScenes();
  const lamp = await all.addLamp('Lamp', 'online');
  const cellar = await all.addLamp('Cellar', 'offline');
  const tried = await all.call('POST', '/api/scenes/try', { commands: [dim(lamp, 30), dim(cellar, 10)] });
  assert.equal(tried.statusCode, 202, tried.body);
  assert.deepEqual(tried.json<SceneRun>(), { sent: [lamp], failed: [{ deviceId: cellar, reason: 'offline' }] });
  assert.deepEqual(await all.list(), []);
  const bad = await all.call('POST', '/api/scenes/try', { commands: [{ deviceId: lamp, action: 'reboot' }] });
  assert.equal(bad.statusCode, 400);
  const maria = await all.member();
  assert.equal((await all.call('POST', '/api/scenes/try', { commands: [dim(lamp, 1)] }, maria)).statusCode, 403);
});

test('members run scenes, and do not edit them', async () => {
  await using all = await withScenes();
  const lamp = await all.addLamp('Lamp', 'online');
  const scene = { name: 'Evening', commands: [dim(lamp, 30)] };
  const { id } = (await all.call('POST', '/api/scenes', scene)).json<Scene>();
  const maria = await all.member();
  assert.equal((await all.call('POST', `/api/scenes/${id}/run`, undefined, maria)).statusCode, 202);
  assert.equal((await all.call('POST', '/api/scenes', scene, maria)).statusCode, 403);
  assert.equal((await all.call('PUT', `/api/scenes/${id}`, scene, maria)).statusCode, 403);
  assert.equal((await all.call('DELETE', `/api/scenes/${id}`, undefined, maria)).statusCode, 403);
});

test('a command that its device does not have is refused with its place, and so is a reset', async () => {
  await using all = await withScenes();
  const lamp = await all.addLamp('Lamp', 'online');
  const commands = [
    dim(lamp, 30),
    dim(nobody, 30),
    { deviceId: lamp, action: 'fly' },
    { deviceId: lamp, action: 'factory_reset' },
    dim(lamp, 101),
  ];
  const refused = await all.call('POST', '/api/scenes', { name: 'Evening', commands });
  assert.equal(refused.statusCode, 400);
  const { faults } = refused.json<{ details: { faults: { pointer: string }[] } }>().details;
  assert.deepEqual(
    faults.map(({ pointer }) => pointer),
    ['/commands/1/deviceId', '/commands/2/action', '/commands/3/action', '/commands/4/params/brightness'],
  );
  for (const body of [
    { name: 'None', commands: [] },
    { name: '  ', commands: [dim(lamp, 1)] },
  ])
    assert.equal((await all.call('POST', '/api/scenes', body)).statusCode, 400);
});

test('there are not more scenes than the limit', async () => {
  await using all = await withScenes();
  const lamp = await all.addLamp('Lamp', 'online');
  for (let n = 0; n <= maxScenes; n += 1) {
    const { statusCode } = await all.call('POST', '/api/scenes', { name: `Scene ${n}`, commands: [dim(lamp, 1)] });
    assert.equal(statusCode, n < maxScenes ? 201 : 409);
  }
});
