import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Device } from '@station/protocol/devices';
import type { Gateway, GatewayLoginSheet } from '@station/protocol/gateways';
import { bearer, post, runBackend } from '../../../testing/running-backend.ts';
import { startEspHome } from '../../../testing/simulated-esphome.ts';
import { until } from '../../../testing/until.ts';
import { kitchen } from '../../../testing/gateways/discovery-announcements.ts';

test('an ESPHome is one device: added with its values, switched, pressed, renamed, and leaves', async () => {
  await using running = await runBackend();
  const token = (await running.setUp()).accessToken;
  const body = { name: 'ESPHome', dialect: 'home_assistant', baseTopic: 'esphome' };
  const sheet = (await post(running, '/api/gateways', body, bearer(token))).json<GatewayLoginSheet>();
  assert.equal(sheet.gateway.discoveryPrefix, 'homeassistant');
  const read = async <T>(url: string) => (await running.http.inject({ url, headers: bearer(token) })).json<T>();
  const devices = () => read<Device[]>('/api/devices');
  const shows = (is: (device: Device) => boolean) =>
    until('it is shown so', async () => {
      const all = await devices();
      return all.length === 1 && all.every(is);
    });
  const address = running.backend.mqttAddress ?? '';
  const login = { username: sheet.login, password: sheet.password };
  await using node = await startEspHome(address, login, kitchen);
  await shows(({ name, state, status }) => name === 'Kitchen' && state['temperature'] === 21.5 && status === 'online');
  const [device] = await devices();
  assert.ok(device);
  assert.deepEqual([device.externalId, device.origin?.dialect], ['home_assistant:a4cf1249a3bc', 'home_assistant']);
  const command = (action: string, params?: object) =>
    post(running, `/api/devices/${device.id}/command`, { action, params }, bearer(token));
  assert.equal((await command('set_brightness_ceiling', { brightness_ceiling: 20 })).statusCode, 202);
  await shows(({ state }) => state['brightness_ceiling'] === 20 && state['on_ceiling'] === true);
  assert.equal((await command('unlock')).statusCode, 202);
  await shows(({ state }) => state['locked'] === false);
  assert.equal((await command('restart')).statusCode, 202);
  await until('it is pressed', async () => node.commands.some(({ end }) => end === 'button/restart'));
  await node.press('event/doorbell', 'press');
  await shows(({ state }) => state['action'] === 'doorbell_press');

  await node.remove('temperature');
  await node.rename('Cellar');
  // It comes again with the rest.
  await shows(({ name, id }) => name === 'Cellar' && id === device.id);
  const [gateway] = await read<Gateway[]>('/api/gateways');
  assert.deepEqual([gateway?.state, gateway?.devices], ['online', 1]);
  // What cannot be taken is said, until it can.
  const siren = { name: 'Heating', dev: { ids: kitchen.mac, name: 'Cellar' } };
  const topic = 'homeassistant/siren/kitchen/heating/config';
  const refusals = async () => (await read<Gateway[]>('/api/gateways'))[0]?.notSupported;
  await node.client.publishAsync(topic, JSON.stringify(siren), { qos: 1, retain: true });
  await until('it is not supported', async () => ((await refusals())?.length ?? 0) > 0);
  assert.deepEqual(await refusals(), [{ name: 'Cellar: Heating', reason: 'kind', detail: 'siren' }]);
  await node.client.publishAsync(topic, '', { qos: 1, retain: true });
  await until('nothing is left out', async () => (await refusals())?.length === 0);
  await node.remove();
  await until('it leaves', async () => (await devices()).length === 0);
  assert.deepEqual(node.foreign, []);
});

test('the tree that Home Assistant reads is none of a gateway, and the other way round', async () => {
  await using running = await runBackend();
  const token = (await running.setUp()).accessToken;
  const body = { name: 'ESPHome', dialect: 'home_assistant', baseTopic: 'esphome' };
  const consume = (topic: string) =>
    running.http.inject({
      method: 'PUT',
      url: '/api/consumers/home_assistant',
      headers: bearer(token),
      payload: { topic },
    });
  const connect = async (more: object): Promise<number> =>
    (await post(running, '/api/gateways', { ...body, ...more }, bearer(token))).statusCode;
  assert.equal(await connect({ baseTopic: 'first' }), 201);
  assert.equal((await consume('homeassistant')).statusCode, 409);
  assert.equal((await consume('other')).statusCode, 201);
  assert.equal(await connect({ discoveryPrefix: 'other' }), 409);
  assert.equal(await connect({ discoveryPrefix: 'station' }), 400);
  assert.equal(await connect({ discoveryPrefix: 'esphome/found' }), 201);
});
