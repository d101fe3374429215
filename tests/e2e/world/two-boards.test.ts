import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect, type MqttClient } from 'mqtt';
import type { BackendCondition } from '@station/protocol/backend-conditions';
import { deviceTopic } from '@station/protocol/topics';
import type { DeviceLogin } from '@station/simulators/devices/virtual-device';
import { waitFor } from '../../rig/program.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';

/** A board that connects again as soon as the broker ends its connection, as those of the field do. */
function startBoard(station: Installation, login: DeviceLogin): MqttClient {
  const topic = (end: 'handshake' | 'heartbeat'): string => deviceTopic(stationId, login.externalId, end);
  const client = connect(station.mqttUrl, {
    clientId: login.externalId,
    username: login.externalId,
    password: login.token,
    reconnectPeriod: 1_000,
    will: { topic: topic('heartbeat'), payload: Buffer.from('{"status":"offline"}'), qos: 1, retain: true },
  });
  client.on('error', () => undefined);
  client.on('connect', () => {
    const own = (['command', 'handshake/ack'] as const).map((end) => deviceTopic(stationId, login.externalId, end));
    client.subscribe(own, { qos: 1 });
    client.publish(topic('handshake'), JSON.stringify({ type: login.type, firmwareVersion: '1.0.0', chip: 'esp32' }));
    client.publish(topic('heartbeat'), '{"status":"online"}');
  });
  return client;
}

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`two boards with one id are told, and the device does not flap: ${kind}`, { timeout: 300_000 }, async () => {
    await using station = await install(kind, { devices: 1 });
    await station.startBackend();
    const login = station.logins[0] ?? assert.fail();
    const token = await station.logIn();
    const conditions = async (): Promise<BackendCondition[]> => {
      const answer = await fetch(`${station.url}/api/conditions`, { headers: { authorization: `Bearer ${token}` } });
      return (await answer.json()) as BackendCondition[];
    };
    const status = async (): Promise<string | undefined> =>
      (await station.query<{ status: string }>('select status from devices'))[0]?.status;
    const boards = [startBoard(station, login)];
    await waitFor('it to be online', async () => (await status()) === 'online');
    boards.push(startBoard(station, login));
    const seen = new Set<string | undefined>();
    const told = await waitFor('the condition', async () => {
      seen.add(await status());
      return (await conditions()).find(({ id }) => id === 'devices_reconnecting');
    });
    assert.deepEqual(told.details, { externalIds: [login.externalId], count: 1 });
    assert.deepEqual([...seen], ['online']);
    for (const board of boards) await board.endAsync(true);
  });
}
