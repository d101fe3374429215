// Simulated devices of Tasmota at a real broker, with the backend as a program of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Device } from '@station/protocol/devices';
import type { Gateway, GatewayLoginSheet } from '@station/protocol/gateways';
import { tasmotaConfig, tasmotaSensors } from '@station/backend/testing/gateways/tasmota-announcements';
import { startTasmota } from '@station/backend/testing/simulated-tasmota';
import { waitFor } from '../../rig/program.ts';
import { install } from '../backend/installation.ts';
import { call, find } from './gateway-station.ts';

const lampConfig = tasmotaConfig({ dn: 'Lamp', mac: 'A4CF12000001', t: 'tasmota_000001', rl: [2], lt_st: 1 });

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`devices of Tasmota with ${kind}: added, switched, renamed, kept over a restart, offline, removed`, async () => {
    await using station = await install(kind, { devices: 1 });
    await station.startBackend();
    const given = { name: 'Tasmota', dialect: 'tasmota', baseTopic: 'tasmota' };
    const sheet = await call<GatewayLoginSheet>(station, 'POST', '/api/gateways', given);
    const login = { username: sheet.login, password: sheet.password };
    await using plug = await startTasmota(station.mqttUrl, login, tasmotaConfig({ dn: 'Plug' }), tasmotaSensors.sn);
    await using lamp = await startTasmota(station.mqttUrl, login, lampConfig);
    const shows = (name: string, is: (one: Device) => boolean): Promise<unknown> =>
      waitFor(`${name} to be shown`, async () => {
        const found = await find(station, name);
        return found !== undefined && is(found) ? true : null;
      });
    // It is asked for what it would say minutes later.
    await shows('Plug', ({ status, state }) => status === 'online' && state['power'] === 41 && state['on'] === false);
    await shows('Lamp', ({ status, state }) => status === 'online' && state['on'] === false);

    const known = await find(station, 'Lamp');
    assert.ok(known);
    const dimmed = { action: 'set_brightness', params: { brightness: 40 } };
    const { commandId } = await call<{ commandId: string }>(
      station,
      'POST',
      `/api/devices/${known.id}/command`,
      dimmed,
    );
    await waitFor('the command to be confirmed', async () => {
      const rows = await station.query<{ status: string }>(
        `select status from device_commands where id = '${commandId}'`,
      );
      return rows[0]?.status === 'confirmed' ? true : null;
    });
    assert.deepEqual(lamp.commands, [{ name: 'Dimmer', payload: '40' }]);
    assert.deepEqual(plug.commands, []);

    await lamp.rename('Hall/lamp #1');
    await shows('Hall/lamp #1', ({ id }) => id === known.id);

    await station.stopBackend('SIGTERM');
    if (station.mosquitto !== null) await lamp.report({ Dimmer: 55 });
    await station.startBackend();
    if (station.mosquitto === null) {
      await waitFor('the lamp to be back', async () => (lamp.client.connected ? true : null));
      await lamp.report({ Dimmer: 55 });
    }
    await shows('Hall/lamp #1', ({ status, state }) => status === 'online' && state['brightness'] === 55);
    await shows('Plug', ({ status }) => status === 'online');

    lamp.crash();
    await shows('Hall/lamp #1', ({ status }) => status === 'offline');
    assert.equal((await find(station, 'Plug'))?.status, 'online', 'it is another device with the same login');
    const [gateway] = await call<Gateway[]>(station, 'GET', '/api/gateways');
    assert.deepEqual([gateway?.state, gateway?.devices], ['online', 2]);

    await plug.remove();
    await waitFor('the plug to leave', async () => ((await find(station, 'Plug')) === undefined ? true : null));
    assert.deepEqual([...plug.foreign, ...lamp.foreign], []);

    await call(station, 'DELETE', `/api/gateways/${sheet.gateway.id}`);
    assert.equal(await find(station, 'Hall/lamp #1'), undefined);
    await assert.rejects(connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 0 }, false));
  });
}
