import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { DeviceType, StationDeviceType } from '@station/protocol/device-types';
import type { Session } from '@station/protocol/rest';
import { createCommandStore, localCommandTransaction } from '../store/command-store.ts';
import { createCommands } from './device-commands.ts';
import { builtInTypes } from '../../testing/built-in-types.ts';
import { createDeviceEvents, type DeviceEvent } from '../core/device-events.ts';
import type { AnnouncedType } from '../core/type-registry.ts';
import { type Sight, wholeStation } from '../core/sight.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createHttpServer } from '../http/server.ts';
import { registerDeviceCommandRoutes } from './command-routes.ts';

const lampId = '01890000-0000-7000-8000-000000000001';
const turnOn = { action: 'turn_on' };
const nobody = '01890000-0000-7000-8000-000000000000';

/** The routes with real commands, and a broker that accepts or refuses them. */
async function withLamp({ role = 'member', status = 'online' }: { role?: 'member' | 'admin'; status?: string } = {}) {
  const published: unknown[] = [];
  const broker = { takes: true };
  const store = await openTestStore();
  const events = createDeviceEvents(recordedLog());
  const commands = createCommands({
    stationId: 's',
    findDevice: async (id) => (id === lampId ? { id, externalId: 'c0ffee', type: 'light', state: {} } : null),
    types: builtInTypes,
    publish: async (externalId, payload) => {
      if (!broker.takes) throw new Error('offline');
      published.push({ externalId, ...payload });
    },
    store: createCommandStore({ db: store.db, transact: localCommandTransaction(store.db, events) }),
    events,
    clock: systemClock,
    logger: recordedLog(),
  });
  const devices = {
    // Only these columns are read.
    findSeen: async (_sight: Sight, id: string) => (id === lampId ? ({ id, type: 'light', status } as never) : null),
    seen: async () => new Set<string>(),
  };
  const app = createHttpServer({ logger: recordedLog() });
  app.addHook('onRequest', async (request) => {
    request.user = { userId: nobody, role, sessionId: '', issuedAt: 0, expiresAt: 0 };
    request.sight = wholeStation;
  });
  await registerDeviceCommandRoutes(app, { devices, types: builtInTypes, commands });
  const command = (payload: object, id = lampId) =>
    app.inject({ method: 'POST', url: `/api/devices/${id}/command`, payload });
  return {
    command,
    published,
    broker,
    commands,
    [Symbol.asyncDispose]: async () => {
      commands[Symbol.dispose]();
      await app.close();
      await store[Symbol.asyncDispose]();
    },
  };
}

test('a command goes to the broker with its id, and is pending until the device confirms it', async () => {
  await using lamp = await withLamp();
  const response = await lamp.command({ action: 'set_brightness', params: { brightness: 40 } });
  assert.equal(response.statusCode, 202);
  const { commandId } = response.json<{ commandId: string }>();
  assert.deepEqual(response.json(), {
    commandId,
    deviceId: lampId,
    action: 'set_brightness',
    status: 'pending',
    reason: null,
  });
  assert.deepEqual(lamp.published, [{ externalId: 'c0ffee', action: 'set_brightness', brightness: 40, commandId }]);
  assert.deepEqual(
    lamp.commands.pending().map((pending) => pending.commandId),
    [commandId],
  );
});

test('a command that the type does not have is refused with the pointer of each fault', async () => {
  await using lamp = await withLamp();
  const pointers = async (payload: object): Promise<string[]> => {
    const response = await lamp.command(payload);
    assert.equal(response.statusCode, 400, response.body);
    return response.json<{ details: { faults: { pointer: string }[] } }>().details.faults.map(({ pointer }) => pointer);
  };
  assert.deepEqual(await pointers({ action: 'fly' }), ['/action']);
  assert.deepEqual(await pointers({}), ['/action']);
  assert.ok((await pointers({ action: 'set_brightness', params: { brightness: 101 } })).includes('/params/brightness'));
  assert.deepEqual(await pointers({ ...turnOn, more: true }), ['/more']);
  assert.deepEqual(lamp.published, []);
});

test('a command that is larger than a device can receive is refused', async () => {
  await using lamp = await withLamp({ role: 'admin' });
  const url = `http://${'x'.repeat(900)}`;
  const params = { url, version: '1.0.0', checksum: 'a'.repeat(64), size: 1 };
  const refused = await lamp.command({ action: 'ota_update', params });
  const { code, message } = refused.json<{ code: string; message: string }>();
  assert.deepEqual([refused.statusCode, code], [413, 'command_too_large']);
  assert.match(message, /a device can receive 900/);
  assert.deepEqual(lamp.published, []);
});

test('a missing, an offline and an unreachable device get different errors', async () => {
  await using lamp = await withLamp();
  assert.equal((await lamp.command(turnOn, nobody)).statusCode, 404);
  lamp.broker.takes = false;
  const failed = await lamp.command(turnOn);
  assert.deepEqual([failed.statusCode, failed.json<{ status: string }>().status], [202, 'failed']);
  assert.deepEqual(lamp.commands.pending(), []);
  await using offline = await withLamp({ status: 'offline' });
  const refused = await offline.command(turnOn);
  assert.deepEqual([refused.statusCode, refused.json<{ code: string }>().code], [409, 'device_offline']);
  assert.deepEqual(offline.published, []);
});

test('of what devices say about themselves, somebody with some zones gets what concerns the devices of these', async () => {
  const [light] = builtInTypes.list();
  assert.ok(light);
  const said = (key: string, deviceIds: string[]): AnnouncedType => {
    return { deviceType: { ...light, type: 'fan', capabilities: [{ key, kind: 'text' as const }] }, deviceIds };
  };
  const app = createHttpServer({ logger: recordedLog() });
  app.addHook('onRequest', async (request) => {
    request.sight = request.headers['x-sees'] === 'all' ? wholeStation : { zones: new Set(['hall']) };
  });
  const types = { ...builtInTypes, announced: () => [said('hidden', [nobody]), said('shared', [nobody, lampId])] };
  const devices = { findSeen: async () => null, seen: async () => new Set([lampId]) };
  await registerDeviceCommandRoutes(app, { devices, types, commands: { send: () => assert.fail() } });
  const announced = async (sees: string) => {
    const answer = await app.inject({ url: '/api/device-types', headers: { 'x-sees': sees } });
    return answer.json<StationDeviceType[]>().flatMap(({ deviceIds }) => (deviceIds ? [deviceIds] : []));
  };
  assert.deepEqual(await announced('all'), [[nobody], [nobody, lampId]]);
  assert.deepEqual(await announced('some'), [[lampId]]);
  await app.close();
});

test('members may not send common commands such as a reset', async () => {
  for (const action of ['reboot', 'factory_reset']) {
    await using member = await withLamp({ role: 'member' });
    assert.equal((await member.command({ action })).statusCode, 403);
    assert.deepEqual(member.published, []);
    await using admin = await withLamp({ role: 'admin' });
    assert.equal((await admin.command({ action })).statusCode, 202);
  }
});

test('device types are listed, and a change or removal of a device is emitted', async () => {
  await using running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken satisfies Session['accessToken']);
  const types = (await running.http.inject({ url: '/api/device-types', headers })).json<DeviceType[]>();
  const light = types.find(({ type }) => type === 'light');
  assert.deepEqual(light?.primary, { capability: 'on', command: 'toggle' });
  assert.deepEqual(
    light?.commands.map(({ action }) => action),
    ['turn_on', 'turn_off', 'toggle', 'set_brightness'],
  );

  const devices = createDeviceStore({ db: running.backend.db, clock: systemClock });
  const { id } = await devices.provision({ externalId: 'c0ffee', type: 'light', name: 'Lamp', zoneId: null });
  const emitted: DeviceEvent[] = [];
  using _listening = running.backend.deviceEvents.subscribe((event) => emitted.push(event));
  await running.http.inject({ method: 'PATCH', url: `/api/devices/${id}`, headers, payload: { name: 'Desk lamp' } });
  await running.http.inject({ method: 'DELETE', url: `/api/devices/${id}`, headers });
  await running.http.inject({ method: 'DELETE', url: `/api/devices/${id}`, headers });
  assert.deepEqual(emitted, [
    { kind: 'changed', deviceId: id, externalId: 'c0ffee' },
    { kind: 'removed', deviceId: id, externalId: 'c0ffee' },
  ]);
});
