// Simulated devices of Shelly at a real broker, with the backend as a program of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Device } from '@station/protocol/devices';
import type { Gateway, GatewayLoginSheet } from '@station/protocol/gateways';
import { startShelly } from '@station/backend/testing/simulated-shelly';
import { waitFor } from '../../rig/program.ts';
import { install } from '../backend/installation.ts';
import { call, find } from './gateway-station.ts';

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`devices of Shelly with ${kind}: added, switched, renamed, kept over a restart, offline`, async () => {
    await using station = await install(kind, { devices: 1 });
    await station.startBackend();
    const given = { name: 'Shelly', dialect: 'shelly', baseTopic: 'shelly' };
    const sheet = await call<GatewayLoginSheet>(station, 'POST', '/api/gateways', given);
    const login = { username: sheet.login, password: sheet.password };
    const boiler = { prefix: 'shelly/boiler', id: 'shellyplus1pm-000000000001', name: 'Boiler' };
    const pump = { prefix: 'shelly/cellar/pump', id: 'shellyplus1pm-000000000002', name: 'Pump' };
    await using first = await startShelly(station.mqttUrl, login, boiler);
    await using second = await startShelly(station.mqttUrl, login, pump);
    const shows = (name: string, is: (one: Device) => boolean): Promise<unknown> =>
      waitFor(`${name} to be shown`, async () => {
        const found = await find(station, name);
        return found !== undefined && is(found) ? true : null;
      });
    await shows('Boiler', ({ status, state }) => status === 'online' && state['voltage'] === 231.4);
    await shows('Pump', ({ status, state }) => status === 'online' && state['on'] === false);

    const known = await find(station, 'Pump');
    assert.ok(known);
    const { commandId } = await call<{ commandId: string }>(station, 'POST', `/api/devices/${known.id}/command`, {
      action: 'turn_on',
    });
    await waitFor('the command to be confirmed', async () => {
      const rows = await station.query<{ status: string }>(
        `select status from device_commands where id = '${commandId}'`,
      );
      return rows[0]?.status === 'confirmed' ? true : null;
    });
    assert.deepEqual(second.commands, [{ method: 'Switch.Set', params: { id: 0, on: true } }]);
    assert.deepEqual(first.commands, []);
    await second.rename('Cellar pump');
    await shows('Cellar pump', ({ id }) => id === known.id);

    await station.stopBackend('SIGTERM');
    if (station.mosquitto !== null) await second.report('switch:0', { apower: 125 });
    await station.startBackend();
    await waitFor('the pump to be back', async () => (second.client.connected ? true : null));
    if (station.mosquitto === null) await second.report('switch:0', { apower: 125 });
    await shows('Cellar pump', ({ status, state }) => status === 'online' && state['power'] === 125);
    await shows('Boiler', ({ status }) => status === 'online');

    first.crash();
    await shows('Boiler', ({ status }) => status === 'offline');
    assert.equal((await find(station, 'Cellar pump'))?.status, 'online');
    await using again = await startShelly(station.mqttUrl, login, { ...boiler, name: 'Hot water' });
    await shows('Hot water', ({ status, externalId }) => status === 'online' && externalId === `shelly:${boiler.id}`);
    const [gateway] = await call<Gateway[]>(station, 'GET', '/api/gateways');
    assert.deepEqual([gateway?.state, gateway?.devices], ['online', 2]);
    assert.deepEqual([...first.foreign, ...second.foreign, ...again.foreign], []);

    await call(station, 'DELETE', `/api/gateways/${sheet.gateway.id}`);
    assert.equal(await find(station, 'Cellar pump'), undefined);
    await assert.rejects(connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 0 }, false));
  });
}
