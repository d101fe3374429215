// A simulated Zigbee2MQTT at a real broker, with the backend as a program of its own.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Device } from '@station/protocol/devices';
import type { Gateway, GatewayLoginSheet } from '@station/protocol/gateways';
import { announcement, colourLamp, wallButton } from '@station/backend/testing/gateways/announcements';
import { type SimulatedZigbeeDevice, startZigbee2Mqtt } from '@station/backend/testing/simulated-zigbee2mqtt';
import { waitFor } from '../../rig/program.ts';
import { install, type Installation } from '../backend/installation.ts';
import { call, find } from './gateway-station.ts';

const device = (at: number, name: string, definition: object): SimulatedZigbeeDevice => ({
  entry: {
    ...announcement({ definition }),
    ieee_address: `0x00158d000000000${at}`,
    friendly_name: name,
  },
  state: {},
});

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`a Zigbee2MQTT with ${kind}: added, switched, renamed, kept over a restart, removed, away`, async () => {
    await using station = await install(kind, { devices: 1 });
    await station.startBackend();
    const given = { name: 'Zigbee', dialect: 'zigbee2mqtt', baseTopic: 'zigbee2mqtt' };
    const sheet = await call<GatewayLoginSheet>(station, 'POST', '/api/gateways', given);
    assert.equal(sheet.isLoginMade, true);
    const login = { username: sheet.login, password: sheet.password };
    const group = {
      id: 1,
      friendly_name: 'all lamps',
      members: [{ ieee_address: device(1, '', {}).entry.ieee_address }],
    };
    const all = [device(1, 'lamp', colourLamp), device(2, 'button', wallButton)];
    await using bridge = await startZigbee2Mqtt(station.mqttUrl, login, all, [group]);
    const shows = (name: string, is: (one: Device) => boolean): Promise<unknown> =>
      waitFor(`${name} to be shown`, async () => {
        const found = await find(station, name);
        return found !== undefined && is(found) ? true : null;
      });
    await shows('lamp', ({ status }) => status === 'online');
    await shows('button', ({ status }) => status === 'online');
    await bridge.report('lamp', { state: 'OFF', brightness: 0 });
    await shows('lamp', ({ state }) => state['on'] === false);

    const lamp = await find(station, 'lamp');
    assert.ok(lamp);
    const { commandId } = await call<{ commandId: string }>(station, 'POST', `/api/devices/${lamp.id}/command`, {
      action: 'turn_on',
    });
    await waitFor('the command to be confirmed', async () => {
      const rows = await station.query<{ status: string }>(
        `select status from device_commands where id = '${commandId}'`,
      );
      return rows[0]?.status === 'confirmed' ? true : null;
    });
    assert.deepEqual(bridge.commands, [{ name: 'lamp', payload: { state: 'ON' } }]);

    await bridge.rename('lamp', 'hall/lamp');
    await shows('hall/lamp', ({ id }) => id === lamp.id);

    await station.stopBackend('SIGTERM');
    if (station.mosquitto !== null) await bridge.report('hall/lamp', { brightness: 127 });
    await station.startBackend();
    await shows('hall/lamp', ({ status }) => status === 'online');
    if (station.mosquitto === null) {
      await waitFor('the bridge to be back', async () => (bridge.client.connected ? true : null));
      await bridge.report('hall/lamp', { brightness: 127 });
    }
    await shows('hall/lamp', ({ state }) => state['brightness'] === 50);

    const lamps = await find(station, 'all lamps');
    assert.ok(lamps);
    await call(station, 'POST', `/api/devices/${lamps.id}/command`, { action: 'turn_off' });
    await shows('all lamps', ({ state }) => state['on'] === false);
    await shows('hall/lamp', ({ state }) => state['on'] === false);
    await bridge.removeGroup('all lamps');
    await waitFor('the group to leave', async () => ((await find(station, 'all lamps')) === undefined ? true : null));

    await seesItsTreeAlone(station, login);
    await bridge.remove('button');
    await waitFor('the button to leave', async () => ((await find(station, 'button')) === undefined ? true : null));

    bridge.crash();
    await shows('hall/lamp', ({ status }) => status === 'offline');
    const [gateway] = await call<Gateway[]>(station, 'GET', '/api/gateways');
    assert.deepEqual([gateway?.state, gateway?.devices], ['offline', 1]);
    assert.deepEqual(bridge.foreign, []);

    await call(station, 'DELETE', `/api/gateways/${sheet.gateway.id}`);
    assert.equal(await find(station, 'hall/lamp'), undefined);
    await assert.rejects(connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 0 }, false));
  });
}

/** What it may not read it is not sent, and what it may not write has no effect. */
async function seesItsTreeAlone(station: Installation, login: { username: string; password: string }): Promise<void> {
  const [own] = station.logins;
  assert.ok(own);
  const received: string[] = [];
  const client = await connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 0 }, false);
  const honest = await connectAsync(station.mqttUrl, {
    username: own.externalId,
    password: own.token,
    reconnectPeriod: 0,
  });
  try {
    client.on('message', (topic) => received.push(topic));
    await client.subscribeAsync(['#', 'station/#', 'other/#']).catch(() => undefined);
    const topic = `station/${station.env['STATION_ID']}/device/${own.externalId}`;
    const stolen = client.publishAsync(`${topic}/state`, '{"state":{"on":true}}', { qos: 1 });
    await stolen.catch(() => undefined);
    await honest.publishAsync(`${topic}/state`, '{"state":{"brightness":7}}', { qos: 1 });
    const name = (await call<Device[]>(station, 'GET', '/api/devices')).find(
      (one) => one.externalId === own.externalId,
    );
    assert.ok(name);
    await waitFor('the state of the honest device', async () => {
      const found = await call<Device>(station, 'GET', `/api/devices/${name.id}`);
      if (found.state['brightness'] !== 7) return null;
      assert.equal(found.state['on'], undefined);
      return true;
    });
    assert.deepEqual(
      received.filter((one) => !one.startsWith('zigbee2mqtt/')),
      [],
    );
  } finally {
    await Promise.all([client.endAsync(true), honest.endAsync(true)]);
  }
}
