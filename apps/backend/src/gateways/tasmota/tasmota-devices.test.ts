import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '@station/protocol/devices';
import type { Gateway, GatewayLoginSheet } from '@station/protocol/gateways';
import { bearer, post, runBackend } from '../../../testing/running-backend.ts';
import { startTasmota } from '../../../testing/simulated-tasmota.ts';
import { until } from '../../../testing/until.ts';
import { tasmotaConfig, tasmotaSensors } from '../../../testing/gateways/tasmota-announcements.ts';

async function house() {
  await using starting = new AsyncDisposableStack();
  const running = starting.use(await runBackend());
  const token = (await running.setUp()).accessToken;
  const body = { name: 'Tasmota', dialect: 'tasmota', baseTopic: 'tasmota' };
  const sheet = (await post(running, '/api/gateways', body, bearer(token))).json<GatewayLoginSheet>();
  const read = async <T>(url: string) => (await running.http.inject({ url, headers: bearer(token) })).json<T>();
  const find = async (name: string) => (await read<Device[]>('/api/devices')).find((device) => device.name === name);
  const all = starting.move();
  return {
    address: running.backend.mqttAddress ?? '',
    login: { username: sheet.login, password: sheet.password },
    find,
    shows: (name: string, is: (device: Device) => boolean) =>
      until(`${name} is shown so`, async () => {
        const device = await find(name);
        return device !== undefined && is(device);
      }),
    gateway: async () => (await read<Gateway[]>('/api/gateways'))[0],
    command: (id: string, action: string) => post(running, `/api/devices/${id}/command`, { action }, bearer(token)),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

test('devices of Tasmota are added with what they measure, switched, renamed, and leave', async () => {
  await using at = await house();
  await using plug = await startTasmota(at.address, at.login, tasmotaConfig(), tasmotaSensors.sn);
  await at.shows('Kitchen lamp', ({ state }) => state['power'] === 41 && state['on'] === false);
  const device = await at.find('Kitchen lamp');
  assert.ok(device);
  assert.equal(device.origin?.dialect, 'tasmota');
  assert.equal(device.externalId, 'tasmota:a4cf1249a3bc');
  assert.equal((await at.command(device.id, 'turn_on')).statusCode, 202);
  await at.shows('Kitchen lamp', ({ state }) => state['on'] === true);
  assert.deepEqual(plug.commands, [{ name: 'POWER1', payload: 'ON' }]);
  await plug.rename('Hall lamp');
  await at.shows('Hall lamp', ({ id }) => id === device.id);
  await plug.sense({ ENERGY: { Power: 7 } });
  await at.shows('Hall lamp', ({ state }) => state['power'] === 7);
  assert.equal((await at.gateway())?.state, 'online');
  await plug.remove();
  await until('the lamp leaves', async () => (await at.find('Hall lamp')) === undefined);
  assert.deepEqual(plug.foreign, []);
});

test('each device says itself whether it is online, also beside others with the same login', async () => {
  await using at = await house();
  await using _other = await startTasmota(
    at.address,
    at.login,
    tasmotaConfig({ dn: 'Plug', mac: 'A4CF12000001', t: 'tasmota_000001' }),
  );
  const lamp = await startTasmota(at.address, at.login);
  await at.shows('Plug', ({ status }) => status === 'online');
  await at.shows('Kitchen lamp', ({ status }) => status === 'online');
  lamp.crash();
  await at.shows('Kitchen lamp', ({ status }) => status === 'offline');
  assert.equal((await at.find('Plug'))?.status, 'online');
  await using _again = await startTasmota(at.address, at.login);
  await at.shows('Kitchen lamp', ({ status }) => status === 'online');
});
