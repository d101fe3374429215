import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { Device, DeviceEvent, DeviceRemoval, Zone } from '@station/protocol/devices';
import { createDeviceStore } from '../store/device-store.ts';
import { createEventIds } from '../core/event-ids.ts';
import { writeReports } from '../history/report-store.ts';
import { postgresUrl } from '../../testing/test-postgres.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';

const nobody = '01890000-0000-7000-8000-000000000000';

async function withDevices() {
  const running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const { db } = running.backend;
  const devices = createDeviceStore({ db, clock: systemClock });
  const add = async (name: string): Promise<string> =>
    (await devices.provision({ externalId: `id-${name}`, type: 'climate', name, zoneId: null })).id;
  const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
    running.http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  const newId = createEventIds(Date.now);
  const report = (...reports: Parameters<typeof writeReports>[1]) =>
    writeReports({ db, kind: postgresUrl === null ? 'sqlite' : 'postgres' }, reports, newId);
  return { running, add, call, report, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

test('devices are listed by name with their latest reports, and without their token', async () => {
  await using all = await withDevices();
  const porch = await all.add('Porch');
  const hall = await all.add('Hall');
  const state = {
    temperature: 20.5,
    on: true,
    mode: 'auto',
    nested: { a: [1, 'x', null] },
    nothing: null,
    'two\u2028lines': 1,
  };
  await all.report(
    { kind: 'handshake', deviceId: hall, at: 1_000, firmwareVersion: '1.0.0', chip: 'esp32', kitTag: null },
    { kind: 'status', deviceId: hall, at: 1_000, status: 'online' },
    { kind: 'state', deviceId: hall, at: 2_000, state },
  );
  const list = (await all.call('GET', '/api/devices')).json<Device[]>();
  assert.deepEqual(
    list.map(({ id }) => id),
    [hall, porch],
  );
  const { createdAt, ...device } = list[0]!;
  assert.match(createdAt, /Z$/);
  assert.deepEqual(device, {
    id: hall,
    externalId: 'id-Hall',
    type: 'climate',
    name: 'Hall',
    zoneId: null,
    status: 'online',
    statusAt: '1970-01-01T00:00:01.000Z',
    lastSeenAt: '1970-01-01T00:00:02.000Z',
    state,
    stateAt: '1970-01-01T00:00:02.000Z',
    stateTimes: {},
    fault: null,
    dropped: null,
    firmwareVersion: '1.0.0',
    chip: 'esp32',
  });
  assert.deepEqual((await all.call('GET', `/api/devices/${hall}`)).json(), list[0]);
  assert.equal(list[1]?.status, 'unknown');
});

test('a device is renamed, put into a zone and removed; removing a zone keeps its devices', async () => {
  await using all = await withDevices();
  const id = await all.add('Hall');
  const zone = (await all.call('POST', '/api/zones', { name: ' Ground floor ' })).json<Zone>();
  assert.equal(zone.name, 'Ground floor');
  const changed = await all.call('PATCH', `/api/devices/${id}`, { name: 'Big hall', zoneId: zone.id });
  assert.deepEqual([changed.json<Device>().name, changed.json<Device>().zoneId], ['Big hall', zone.id]);
  assert.equal((await all.call('PATCH', `/api/devices/${id}`, { zoneId: nobody })).statusCode, 400);
  assert.equal((await all.call('PATCH', `/api/devices/${id}`, {})).statusCode, 400);
  assert.equal((await all.call('PATCH', `/api/devices/${nobody}`, { name: 'x' })).statusCode, 404);

  assert.equal(
    (await all.call('PATCH', `/api/zones/${zone.id}`, { name: 'Downstairs' })).json<Zone>().name,
    'Downstairs',
  );
  assert.equal((await all.call('DELETE', `/api/zones/${zone.id}`)).statusCode, 204);
  assert.equal((await all.call('DELETE', `/api/zones/${zone.id}`)).statusCode, 404);
  assert.equal((await all.call('GET', `/api/devices/${id}`)).json<Device>().zoneId, null);

  const removal = (await all.call('DELETE', `/api/devices/${id}`)).json<DeviceRemoval>();
  assert.equal(removal.told, false, 'it is offline');
  assert.ok(Date.parse(removal.loginUntil) > Date.now() + 29 * 24 * 60 * 60 * 1000);
  assert.equal((await all.call('DELETE', `/api/devices/${id}`)).statusCode, 404);
  assert.deepEqual((await all.call('GET', '/api/devices')).json(), []);
});

test('two zones cannot get one name, ignoring case; old zones with one name stay unchanged', async () => {
  await using all = await withDevices();
  const { db } = all.running.backend;
  const add = async (name: string): Promise<number> => (await all.call('POST', '/api/zones', { name })).statusCode;
  const together = await Promise.all(['Küche', 'küche ', 'KÜCHE', 'Хол', 'хОЛ'].map(add));
  assert.deepEqual(together.sort(), [201, 201, 409, 409, 409]);
  const taken = await all.call('POST', '/api/zones', { name: 'kÜche' });
  assert.equal(taken.json<{ code: string }>().code, 'conflict');

  for (const id of [nobody, nobody.replace(/0$/, '1')]) {
    await db.insertInto('zones').values({ id, name: 'Attic', created_at: 0 }).execute();
  }
  const rename = async (name: string): Promise<number> =>
    (await all.call('PATCH', `/api/zones/${nobody}`, { name })).statusCode;
  assert.deepEqual([await rename('хол'), await rename('attic'), await rename('Loft')], [409, 409, 200]);
  assert.equal(await rename('LOFT'), 200, 'its own name, written in another way');
  assert.equal((await all.call('GET', '/api/zones')).json<Zone[]>().length, 4);
});

test('text that a database cannot store is refused in every field', async () => {
  await using all = await withDevices();
  const id = await all.add('Hall');
  const nul = await all.call('PATCH', `/api/devices/${id}`, { name: 'a\u0000b' });
  assert.deepEqual(
    [nul.statusCode, nul.json<{ details: unknown }>().details],
    [
      400,
      {
        faults: [{ in: 'body', pointer: '/name', message: 'has an invalid character, or a number that is too large' }],
      },
    ],
  );
  assert.equal((await all.call('POST', '/api/zones', { name: '\ud800' })).statusCode, 400);
  const query = 'capability=a%00&from=2026-01-01T00:00:00Z';
  assert.equal((await all.call('GET', `/api/devices/${id}/history?${query}`)).statusCode, 400);
  const login = { email: 'a\u0000@example.org', password: 'x' };
  assert.equal((await all.call('POST', '/api/auth/login', login)).statusCode, 400);
});

test('events are read page by page, for one device and for all', async () => {
  await using all = await withDevices();
  const hall = await all.add('Hall');
  const porch = await all.add('Porch');
  for (let n = 0; n < 5; n++) {
    const deviceId = n === 2 ? porch : hall;
    await all.report({
      kind: 'event',
      deviceId,
      at: n * 1_000,
      eventKind: 'user_event',
      data: { action: `press ${n}` },
    });
  }
  const first = (await all.call('GET', '/api/activity?about=devices&limit=3')).json<DeviceEvent[]>();
  assert.deepEqual(
    first.map(({ data }) => data['action']),
    ['press 4', 'press 3', 'press 2'],
  );
  const rest = (await all.call('GET', `/api/activity?about=devices&limit=3&before=${first[2]?.id}`)).json<
    DeviceEvent[]
  >();
  assert.deepEqual(
    rest.map(({ data }) => data['action']),
    ['press 1', 'press 0'],
  );
  const ofPorch = (await all.call('GET', `/api/devices/${porch}/events`)).json<DeviceEvent[]>();
  assert.deepEqual(
    ofPorch.map(({ deviceId, kind }) => [deviceId, kind]),
    [[porch, 'user_event']],
  );
  assert.equal((await all.call('GET', `/api/devices/${nobody}/events`)).statusCode, 404);
  for (const query of ['limit=0', 'limit=9999', 'limit=x', 'before=x', 'page=2', 'about=all', 'userId=x']) {
    assert.equal((await all.call('GET', `/api/activity?${query}`)).statusCode, 400, query);
  }
});
