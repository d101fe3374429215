import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { isDeepStrictEqual, promisify } from 'node:util';
import { deviceTopic } from '@station/protocol/topics';
import { latestState } from '../../rig/latest-state.ts';
import { waitFor } from '../../rig/program.ts';
import { install, stationId, type Installation } from '../backend/installation.ts';

const run = promisify(execFile);

/** Clients of the field by Debian's `mosquitto_pub`; null: it takes a random id. */
const clients: readonly (readonly [name: string, version: string, id: string | null, more: readonly string[]])[] = [
  ['MQTT 3.1 with an id of 23 characters', 'mqttv31', 'ESP8266Client-0A1B2C3D4', []],
  ['MQTT 3.1 with an id of 12 characters', 'mqttv31', 'ESP-0A1B2C3D', []],
  ['MQTT 3.1 that keeps its session', 'mqttv31', 'esp-kept', ['-c']],
  ['MQTT 3.1.1', 'mqttv311', 'esp32-1', []],
  ['MQTT 3.1.1 without an id', 'mqttv311', null, []],
  ['MQTT 3.1.1 with a long id', 'mqttv311', `esp32-${'x'.repeat(60)}`, []],
];
const modern: typeof clients = [
  ['MQTT 5', 'mqttv5', 'esp32-5', []],
  ['MQTT 5 with properties', 'mqttv5', 'esp32-6', ['-D', 'CONNECT', 'session-expiry-interval', '60']],
];

/** Reports the state of a device. @returns what it writes to standard error when it fails; empty: its message was acknowledged. */
async function publish(
  { mqttUrl, logins }: Installation,
  [, version, id, more]: (typeof clients)[number],
  device: number,
): Promise<string> {
  const login = logins[device] ?? assert.fail();
  const { hostname, port } = new URL(mqttUrl);
  const message = JSON.stringify({ state: { temperature: 20 } });
  const to = ['-h', hostname, '-p', port, '-u', login.externalId, '-P', login.token, '-V', version, ...more];
  const named = id === null ? [] : ['-i', id];
  const topic = deviceTopic(stationId, login.externalId, 'state');
  return run('mosquitto_pub', [...to, ...named, '-q', '1', '-t', topic, '-m', message], { timeout: 60_000 }).then(
    () => '',
    (error: unknown) => String((error as { stderr?: unknown }).stderr),
  );
}

const reported = async (station: Installation): Promise<string[]> => {
  const rows = await station.query<{ id: string }>(
    `select external_id as id from devices where ${latestState} = '{"temperature":20}'`,
  );
  return rows.map(({ id }) => id).sort();
};

for (const kind of ['the embedded broker and SQLite', 'Mosquitto and SQLite'] as const) {
  test(`the messages of all clients arrive: ${kind}`, { timeout: 300_000 }, async () => {
    // Each client is a device of its own: reports of Mosquitto are written together (ADR 80), and one wait is enough for all.
    const all = kind === 'Mosquitto and SQLite' ? [...clients, ...modern] : clients;
    await using station = await install(kind, { devices: all.length });
    await station.startBackend();
    const [first = assert.fail()] = clients;
    // Mosquitto has the login a moment after the start.
    await waitFor('the login', async () => (await publish(station, first, 0)) === '');
    for (const [index, client] of all.entries()) assert.equal(await publish(station, client, index), '', client[0]);
    const expected = station.logins.map(({ externalId }) => externalId).sort();
    await waitFor('all states', async () => isDeepStrictEqual(await reported(station), expected));
    if (station.mosquitto !== null) return;
    for (const client of modern) assert.match(await publish(station, client, 0), /Protocol Version/i, client[0]);
    const refused = await station.logged('mqtt_connection_refused');
    assert.deepEqual(
      refused.map(({ reason, clientId, protocol }) => [reason, clientId, protocol]),
      [['protocol_version', 'esp32-5', 'MQTT 5']],
    );
  });
}
