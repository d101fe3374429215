import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { Favourites, Zone } from '@station/protocol/devices';
import { createDeviceStore } from '../store/device-store.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';

const nobody = '01890000-0000-7000-8000-000000000000';

async function withHome() {
  const running = await runBackend();
  const owner = bearer((await running.setUp()).accessToken);
  const devices = createDeviceStore({ db: running.backend.db, clock: systemClock });
  const call = (method: 'GET' | 'POST' | 'PUT' | 'DELETE', url: string, payload?: object, headers = owner) =>
    running.http.inject({ method, url, headers, ...(payload === undefined ? {} : { payload }) });
  const addDevice = async (name: string): Promise<string> =>
    (await devices.provision({ externalId: `id-${name}`, type: 'climate', name, zoneId: null })).id;
  const addZone = async (name: string): Promise<string> => (await call('POST', '/api/zones', { name })).json<Zone>().id;
  const zoneNames = async (): Promise<string[]> =>
    (await call('GET', '/api/zones')).json<Zone[]>().map(({ name }) => name);
  const member = async () => {
    const body = { email: 'maria@example.org', name: 'Maria', role: 'member' };
    const { firstPassword: password } = (await call('POST', '/api/station/members', body)).json<{
      firstPassword: string;
    }>();
    const entered = await call('POST', '/api/auth/login', { email: body.email, password });
    return bearer(entered.json<{ accessToken: string }>().accessToken);
  };
  return { call, addDevice, addZone, zoneNames, member, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

test('zones are in the order of the household; new ones and those that were left out come after it, by name', async () => {
  await using all = await withHome();
  const attic = await all.addZone('Attic');
  const hall = await all.addZone('Hall');
  const kitchen = await all.addZone('Kitchen');
  assert.deepEqual(await all.zoneNames(), ['Attic', 'Hall', 'Kitchen']);
  const order = async (ids: string[]): Promise<number> =>
    (await all.call('PUT', '/api/zones/order', { ids })).statusCode;
  assert.equal(await order([kitchen, attic, hall]), 204);
  assert.deepEqual(await all.zoneNames(), ['Kitchen', 'Attic', 'Hall']);
  await all.addZone('Bath');
  assert.deepEqual(await all.zoneNames(), ['Kitchen', 'Attic', 'Hall', 'Bath']);
  assert.equal(await order([hall, nobody]), 204);
  assert.deepEqual(await all.zoneNames(), ['Hall', 'Attic', 'Bath', 'Kitchen']);
  assert.equal(await order([hall, hall]), 400);
});

test('a member cannot change the order of the household', async () => {
  await using all = await withHome();
  const zone = await all.addZone('Attic');
  const refused = await all.call('PUT', '/api/zones/order', { ids: [zone] }, await all.member());
  assert.equal(refused.statusCode, 403);
});

test('everybody has favourites of their own, in their own order', async () => {
  await using all = await withHome();
  const lamp = await all.addDevice('Lamp');
  const fan = await all.addDevice('Fan');
  const maria = await all.member();
  const read = async (headers?: ReturnType<typeof bearer>): Promise<string[]> =>
    (await all.call('GET', '/api/favourites', undefined, headers)).json<Favourites>().deviceIds;
  const saved = await all.call('PUT', '/api/favourites', { deviceIds: [fan, nobody, lamp] });
  assert.deepEqual(saved.json<Favourites>(), { deviceIds: [fan, lamp] }, 'a device that is gone is left out');
  assert.deepEqual(await read(), [fan, lamp]);
  assert.deepEqual(await read(maria), []);
  await all.call('PUT', '/api/favourites', { deviceIds: [lamp] }, maria);
  assert.deepEqual([await read(), await read(maria)], [[fan, lamp], [lamp]]);
  // They go with the device.
  await all.call('DELETE', `/api/devices/${lamp}`);
  assert.deepEqual([await read(), await read(maria)], [[fan], []]);
});

test('more favourites than a home can show are refused', async () => {
  await using all = await withHome();
  const deviceIds = Array.from(
    { length: 101 },
    (_, index) => `01890000-0000-7000-8000-${String(index).padStart(12, '0')}`,
  );
  assert.equal((await all.call('PUT', '/api/favourites', { deviceIds })).statusCode, 400);
});
