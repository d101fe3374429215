// Simulated devices of the first generation of Shelly at a real broker, with the backend as a program of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Device } from '@station/protocol/devices';
import type { Gateway, GatewayLoginSheet } from '@station/protocol/gateways';
import { startShellyGen1 } from '@station/backend/testing/simulated-shelly-gen1';
import { waitFor } from '../../rig/program.ts';
import { install } from '../backend/installation.ts';
import { call, find } from './gateway-station.ts';

const boiler = { id: 'shelly1pm-000001', mac: 'E868E7000001' };
const pump = { id: 'pump', mac: 'E868E7000002' };

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`devices of Shelly Gen1 with ${kind}: added, switched, pressed, kept over a restart, offline`, async () => {
    await using station = await install(kind, { devices: 1 });
    await station.startBackend();
    const given = { name: 'Shelly', dialect: 'shelly_gen1', baseTopic: 'shellies' };
    const sheet = await call<GatewayLoginSheet>(station, 'POST', '/api/gateways', given);
    const login = { username: sheet.login, password: sheet.password };
    await using first = await startShellyGen1(station.mqttUrl, login, boiler);
    await using second = await startShellyGen1(station.mqttUrl, login, pump);
    const shows = (name: string, is: (one: Device) => boolean): Promise<unknown> =>
      waitFor(`${name} to be shown`, async () => {
        const found = await find(station, name);
        return found !== undefined && is(found) ? true : null;
      });
    await shows(boiler.id, ({ status, state }) => status === 'online' && state['power'] === 12.5);
    await shows('pump', ({ status, state }) => status === 'online' && state['on'] === false && state['energy'] === 20);

    const known = await find(station, 'pump');
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
    assert.deepEqual(second.commands, [{ end: 'relay/0/command', payload: 'on' }]);
    assert.deepEqual(first.commands, []);
    await second.report('input_event/0', { event: 'SS', event_cnt: 8 });
    await shows('pump', ({ state }) => state['action'] === 'input_0_double_push');

    await station.stopBackend('SIGTERM');
    await station.startBackend();
    await waitFor('the pump to be back', async () => (second.client.connected ? true : null));
    await second.report('relay/0/power', '125');
    await shows('pump', ({ status, state }) => status === 'online' && state['power'] === 125);
    await shows(boiler.id, ({ status }) => status === 'online');

    first.crash();
    await shows(boiler.id, ({ status }) => status === 'offline');
    assert.equal((await find(station, 'pump'))?.status, 'online');
    // Its topic is another one now; it is the same device.
    await using again = await startShellyGen1(station.mqttUrl, login, { ...boiler, id: 'hot-water' });
    await shows('hot-water', ({ status, externalId }) => status === 'online' && externalId.endsWith(':e868e7000001'));
    const [gateway] = await call<Gateway[]>(station, 'GET', '/api/gateways');
    assert.deepEqual([gateway?.state, gateway?.devices, gateway?.notSupported], ['online', 2, []]);
    assert.deepEqual([...first.foreign, ...second.foreign, ...again.foreign], []);

    await call(station, 'DELETE', `/api/gateways/${sheet.gateway.id}`);
    assert.equal(await find(station, 'pump'), undefined);
    await assert.rejects(connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 0 }, false));
  });
}
