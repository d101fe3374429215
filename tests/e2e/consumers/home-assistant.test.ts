// Home Assistant's part at a real broker: what it is told, what it may do, and that nothing stays at the broker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import type { Consumer, ConsumerLoginSheet } from '@station/protocol/consumers';
import type { Device } from '@station/protocol/devices';
import type { GatewayLoginSheet } from '@station/protocol/gateways';
import { announcement, colourLamp } from '@station/backend/testing/gateways/announcements';
import { type SimulatedZigbeeDevice, startZigbee2Mqtt } from '@station/backend/testing/simulated-zigbee2mqtt';
import { seeded } from '@station/backend/testing/seeded';
import { waitFor } from '../../rig/program.ts';
import { install, type Installation } from '../backend/installation.ts';
import { call } from '../gateways/gateway-station.ts';

const devicesOf = (station: Installation): Promise<Device[]> => call(station, 'GET', '/api/devices');

/** Reads along with everything that the login may read; `null`: it may not connect. */
async function readAlong(station: Installation, login: { username: string; password: string }, filters: string[]) {
  const seen = new Map<string, string>();
  const client = await connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 200 }, false);
  client.on('error', () => undefined);
  client.on('message', (topic, payload) => {
    if (payload.length === 0) seen.delete(topic);
    else seen.set(topic, payload.toString('utf8'));
  });
  client.on('connect', () => void client.subscribeAsync(filters, { qos: 1 }).catch(() => undefined));
  await client.subscribeAsync(filters, { qos: 1 });
  return { client, seen, [Symbol.asyncDispose]: () => client.endAsync(true) };
}

/** What the broker keeps, as somebody who connects now is told: until nothing came for a while. */
async function keptBy(station: Installation, login: { username: string; password: string }, filters: string[]) {
  await using reader = await readAlong(station, login, filters);
  let count = -1;
  await waitFor('all that is kept', async () => {
    const isSame = reader.seen.size === count;
    count = reader.seen.size;
    if (!isSame) await new Promise((resolve) => setTimeout(resolve, 500));
    return isSame ? true : null;
  });
  return reader.seen;
}

/** A login at Mosquitto that reads everything, made by its administrator. */
async function makeReader(station: Installation): Promise<{ username: string; password: string } | null> {
  if (station.mosquitto === null) return null;
  const reader = { username: 'reader', password: 'reads everything' };
  const admin = await connectAsync(station.mqttUrl, { username: 'backend', password: station.mosquitto.password });
  const acls = ['publishClientReceive', 'subscribePattern'].map((acltype) => ({ acltype, topic: '#', allow: true }));
  const commands = [
    { command: 'createRole', rolename: 'reader', acls },
    { command: 'createClient', ...reader, roles: [{ rolename: 'reader' }] },
  ];
  await admin.publishAsync('$CONTROL/dynamic-security/v1', JSON.stringify({ commands }), { qos: 1 });
  await admin.endAsync();
  return reader;
}

/** What it may not read it is not sent, and what it may not write has no effect. */
async function seesItsTopicsAlone(
  station: Installation,
  login: { username: string; password: string },
  own: { externalId: string; token: string },
): Promise<void> {
  const topic = `station/${station.env['STATION_ID']}/device/${own.externalId}`;
  const received: string[] = [];
  const client = await connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 0 }, false);
  const honest = await connectAsync(station.mqttUrl, { username: own.externalId, password: own.token });
  try {
    client.on('message', (at) => received.push(at));
    for (const filter of ['#', 'station/#', `${topic}/command`, '$CONTROL/#'])
      await client.subscribeAsync(filter, { qos: 1 }).catch(() => undefined);
    for (const [at, payload] of [
      [`${topic}/state`, '{"state":{"brightness":99}}'],
      ['homeassistant/device/other/config', '{}'],
    ] as const)
      await client.publishAsync(at, payload, { qos: 1, retain: true }).catch(() => undefined);
    await honest.publishAsync(`${topic}/state`, '{"state":{"brightness":7}}', { qos: 1 });
    await waitFor('the state of the honest device', async () => {
      const device = (await devicesOf(station)).find(({ externalId }) => externalId === own.externalId);
      assert.notEqual(device?.state['brightness'], 99);
      return device?.state['brightness'] === 7;
    });
    assert.deepEqual(received, []);
    assert.equal((await keptBy(station, login, ['homeassistant/#'])).has('homeassistant/device/other/config'), false);
  } finally {
    await Promise.all([client.endAsync(true), honest.endAsync(true)]);
  }
}

const zigbeeLamp = (number: number, name: string): SimulatedZigbeeDevice => ({
  entry: {
    ...announcement({ definition: colourLamp }),
    ieee_address: `0x00158d00${number.toString(16).padStart(8, '0')}`,
    friendly_name: name,
  },
  state: { state: 'OFF', brightness: 0 },
});

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`Home Assistant with ${kind}: sees and switches a lamp, over restarts of all, until it is off`, async () => {
    await using station = await install(kind, { devices: 5 });
    await station.startBackend();
    const own = station.logins.find(({ type }) => type === 'light');
    assert.ok(own);
    const stationId = station.env['STATION_ID'] ?? '';
    const lamp = (await devicesOf(station)).find(({ externalId }) => externalId === own.externalId);
    assert.ok(lamp);
    const sheet = await call<ConsumerLoginSheet>(station, 'PUT', '/api/consumers/home_assistant', {
      topic: 'homeassistant',
    });
    assert.equal(sheet.isLoginMade, true);
    const login = { username: sheet.login, password: sheet.password };
    const root = `station-out/${stationId}`;
    const config = `homeassistant/device/station_${stationId}_${lamp.id}/config`;
    const received: Record<string, unknown>[] = [];
    await using stack = new AsyncDisposableStack();
    const device = await connectAsync(station.mqttUrl, {
      username: own.externalId,
      password: own.token,
      reconnectPeriod: 200,
    });
    stack.defer(() => device.endAsync(true));
    const topic = `station/${stationId}/device/${own.externalId}`;
    device.on('message', (_topic, payload) =>
      received.push(JSON.parse(payload.toString('utf8')) as Record<string, unknown>),
    );
    device.on('connect', () => void device.subscribeAsync(`${topic}/command`, { qos: 1 }));
    await device.subscribeAsync(`${topic}/command`, { qos: 1 });
    await device.publishAsync(`${topic}/state`, '{"state":{"on":false,"brightness":40}}', { qos: 1 });

    const assistant = stack.use(await readAlong(station, login, ['homeassistant/#', `${root}/#`]));
    const shows = (what: string, is: (text: string) => boolean, at = `${root}/${lamp.id}/state`): Promise<unknown> =>
      waitFor(what, async () => (is(assistant.seen.get(at) ?? '') ? true : null));
    await shows('the lamp', (text) => text.includes('"components"'), config);
    await shows('its state', (text) => text === '{"on":"OFF","brightness":40}');
    await shows('the station', (text) => text === 'online', `${root}/status`);

    const press = async (payload: string): Promise<void> => {
      received.length = 0;
      const action = payload === 'ON' ? 'turn_on' : 'turn_off';
      // Right after a restart the lamp may not read yet: a person presses again.
      await waitFor('the lamp to be told', async () => {
        await assistant.client.publishAsync(`${root}/${lamp.id}/set/on`, payload, { qos: 1 });
        await new Promise((resolve) => setTimeout(resolve, 1_000));
        return received.some((body) => body['action'] === action);
      });
      await device.publishAsync(`${topic}/state`, `{"state":{"on":${payload === 'ON'}}}`, { qos: 1 });
      await shows('what it did', (text) => text.includes(`"on":"${payload}"`));
    };
    await press('ON');
    await waitFor('the command to be confirmed', async () => {
      const rows = await station.query<{ status: string; cause_id: string }>(
        "select status, cause_id from device_commands where cause = 'consumer'",
      );
      return rows.every(({ status, cause_id }) => status === 'confirmed' && cause_id === 'home_assistant') || null;
    });
    await waitFor('the station to know that it is there', async () => {
      const [consumer] = await call<Consumer[]>(station, 'GET', '/api/consumers');
      return consumer?.isConnected === true && consumer.heardAt !== null ? true : null;
    });

    // A power cut of the station, while its broker stays or goes with it.
    await station.stopBackend('SIGKILL');
    if (station.mosquitto !== null) await shows('its last will', (text) => text === 'offline', `${root}/status`);
    await station.startBackend();
    await waitFor('all to be connected', async () => (assistant.client.connected && device.connected) || null);
    await shows('the station again', (text) => text === 'online', `${root}/status`);
    await press('OFF');

    if (station.mosquitto !== null) {
      await station.mosquitto.stop('SIGKILL');
      await station.mosquitto.start();
      await waitFor('all to be connected', async () => (assistant.client.connected && device.connected) || null);
      await shows('the station again', (text) => text === 'online', `${root}/status`);
      await press('ON');
    }
    await seesItsTopicsAlone(station, login, own);
    const reader = await makeReader(station);
    await call(station, 'DELETE', '/api/consumers/home_assistant');
    await assert.rejects(connectAsync(station.mqttUrl, { ...login, reconnectPeriod: 0 }, false));
    if (reader !== null) assert.deepEqual([...(await keptBy(station, reader, ['#'])).keys()], []);
  });

  test(`200 random additions, renames and removals with ${kind}: nothing stays that is not so`, async () => {
    const random = seeded(83);
    await using station = await install(kind, { devices: 1 });
    await station.startBackend();
    const stationId = station.env['STATION_ID'] ?? '';
    const gateway = await call<GatewayLoginSheet>(station, 'POST', '/api/gateways', {
      name: 'Zigbee',
      dialect: 'zigbee2mqtt',
      baseTopic: 'zigbee',
    });
    const on = (topic: string): Promise<ConsumerLoginSheet> =>
      call(station, 'PUT', '/api/consumers/home_assistant', { topic });
    let sheet = await on('homeassistant');
    await using bridge = await startZigbee2Mqtt(
      station.mqttUrl,
      { base: 'zigbee', username: gateway.login, password: gateway.password },
      [],
    );
    let made = 0;
    const change = async (): Promise<void> => {
      const { devices } = bridge;
      const one = devices[Math.floor(random() * devices.length)];
      const dice = random();
      if (one === undefined || dice < 0.4) {
        made += 1;
        devices.push(zigbeeLamp(made, `lamp ${made}`));
        await bridge.announce();
      } else if (dice < 0.7) {
        made += 1;
        await bridge.rename(one.entry.friendly_name, `lamp ${made}`);
      } else await bridge.remove(one.entry.friendly_name);
    };
    const wanted = async (topic: string): Promise<string[]> => {
      const ids = (await devicesOf(station)).map(({ id }) => id);
      const root = `station-out/${stationId}`;
      return [
        `${root}/status`,
        ...ids.flatMap((id) => [
          `${root}/${id}/state`,
          `${root}/${id}/availability`,
          `${topic}/device/station_${stationId}_${id}/config`,
        ]),
      ].sort();
    };
    for (let at = 0; at < 200; at += 1) {
      if (at === 70 || at === 140) {
        await station.stopBackend('SIGKILL');
        await station.startBackend();
        await waitFor('the bridge to be back', async () => bridge.client.connected || null);
        await bridge.announce();
      }
      // With another prefix nothing stays below the one of before.
      if (at === 100) sheet = await on('assistant');
      await change();
      if (at % 40 === 39) await call(station, 'GET', '/api/consumers');
    }
    const reader = (await makeReader(station)) ?? { username: sheet.login, password: sheet.password };
    const filters =
      station.mosquitto === null
        ? ['assistant/#', `station-out/${stationId}/#`]
        : ['homeassistant/#', 'assistant/#', 'station-out/#'];
    await waitFor('the bridge’s devices', async () => {
      const names = new Set((await devicesOf(station)).map(({ name }) => name));
      return bridge.devices.every(({ entry }) => names.has(entry.friendly_name));
    });
    await waitFor('exactly what is so', async () => {
      const kept = [...(await keptBy(station, reader, filters)).keys()].sort();
      const right = await wanted('assistant');
      assert.deepEqual(kept, right);
      return true;
    });
    const rows = await station.query<{ topic: string }>('select topic from consumer_topics order by topic');
    assert.deepEqual(rows.map(({ topic }) => topic).sort(), await wanted('assistant'));
    await call(station, 'DELETE', '/api/consumers/home_assistant');
    assert.deepEqual(await station.query('select topic from consumer_topics'), []);
    if (station.mosquitto !== null) assert.deepEqual([...(await keptBy(station, reader, filters)).keys()], []);
  });
}
