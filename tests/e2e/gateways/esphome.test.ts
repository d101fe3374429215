// Simulated devices of ESPHome, which announce themselves as Home Assistant takes it, at a real broker, with the backend as a program of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Device } from '@station/protocol/devices';
import type { Gateway, GatewayLoginSheet } from '@station/protocol/gateways';
import { kitchen } from '@station/backend/testing/gateways/discovery-announcements';
import { startEspHome } from '@station/backend/testing/simulated-esphome';
import { waitFor } from '../../rig/program.ts';
import { install } from '../backend/installation.ts';
import { call, find } from './gateway-station.ts';

const hall = { name: 'hall', friendlyName: 'Hall', mac: 'a4cf12000002', topicPrefix: 'esphome/hall' };

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`devices of ESPHome with ${kind}: added, switched, renamed, kept over a restart, offline, removed`, async () => {
    await using station = await install(kind, { devices: 1 });
    await station.startBackend();
    // Home Assistant sees the station, and has the usual prefix.
    await call(station, 'PUT', '/api/consumers/home_assistant', { topic: 'homeassistant' });
    const given = { name: 'ESPHome', dialect: 'home_assistant', baseTopic: 'esphome', discoveryPrefix: 'found' };
    const sheet = await call<GatewayLoginSheet>(station, 'POST', '/api/gateways', given);
    const login = { username: sheet.login, password: sheet.password };
    await using first = await startEspHome(station.mqttUrl, login, kitchen, 'found');
    await using second = await startEspHome(station.mqttUrl, login, hall, 'found');
    const shows = (name: string, is: (one: Device) => boolean): Promise<unknown> =>
      waitFor(`${name} to be shown`, async () => {
        const found = await find(station, name);
        return found !== undefined && is(found) ? true : null;
      });
    // What it said before the station knew it counts.
    await shows('Kitchen', ({ status, state }) => status === 'online' && state['temperature'] === 21.5);
    await shows('Hall', ({ status, state }) => status === 'online' && state['on_ceiling'] === false);

    const known = await find(station, 'Hall');
    assert.ok(known);
    const { commandId } = await call<{ commandId: string }>(station, 'POST', `/api/devices/${known.id}/command`, {
      action: 'turn_on_ceiling',
    });
    await waitFor('the command to be confirmed', async () => {
      const rows = await station.query<{ status: string }>(
        `select status from device_commands where id = '${commandId}'`,
      );
      return rows[0]?.status === 'confirmed' ? true : null;
    });
    assert.deepEqual(second.commands, [{ end: 'light/ceiling', payload: '{"state":"ON"}' }]);
    assert.deepEqual(first.commands, []);
    await second.rename('Entrance');
    await shows('Entrance', ({ id }) => id === known.id);

    await station.stopBackend('SIGTERM');
    if (station.mosquitto !== null) await second.report('sensor/temperature', '18');
    await station.startBackend();
    await waitFor('the device to be back', async () => (second.client.connected ? true : null));
    if (station.mosquitto === null) await second.report('sensor/temperature', '18');
    await shows('Entrance', ({ status, state }) => status === 'online' && state['temperature'] === 18);
    await shows('Kitchen', ({ status }) => status === 'online');

    first.crash();
    await shows('Kitchen', ({ status }) => status === 'offline');
    assert.equal((await find(station, 'Entrance'))?.status, 'online', 'it is another device with the same login');
    const [gateway] = await call<Gateway[]>(station, 'GET', '/api/gateways');
    assert.deepEqual([gateway?.state, gateway?.devices, gateway?.discoveryPrefix], ['online', 2, 'found']);

    await second.remove();
    await waitFor('the device to leave', async () => ((await find(station, 'Entrance')) === undefined ? true : null));
    assert.deepEqual([...first.foreign, ...second.foreign], []);

    await call(station, 'DELETE', `/api/gateways/${sheet.gateway.id}`);
    assert.equal(await find(station, 'Kitchen'), undefined);
    await assert.rejects(connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 0 }, false));
  });
}
