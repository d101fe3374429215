import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connect } from 'mqtt';
import { connectDevice } from '@station/backend/testing/test-device';
import type { DeviceCommand } from '@station/protocol/device-commands';
import { waitFor } from '../../rig/program.ts';
import { install, stationId, type Installation } from './installation.ts';

/** The fourth virtual device, a lamp; the broker keeps its messages while it is offline. */
function lampOf(station: Installation) {
  const login = station.logins[3];
  assert.ok(login);
  const { externalId, token } = login;
  const properties = { sessionExpiryInterval: 3_600 };
  const session = { clientId: externalId, clean: false, protocolVersion: 5, properties } as const;
  return { login: { stationId, id: '', externalId, token }, session };
}

async function command(station: Installation, token: string, power: boolean): Promise<DeviceCommand> {
  const name = station.logins[3]?.externalId ?? '';
  const [row] = await station.query<{ id: string }>(`select id from devices where external_id = '${name}'`);
  const answer = await fetch(`${station.url}/api/devices/${row?.id}/command`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ action: power ? 'turn_on' : 'turn_off' }),
  });
  assert.equal(answer.status, 202);
  return (await answer.json()) as DeviceCommand;
}

test('a command that was reported as failed is not executed when the broker is online again', async () => {
  await using station = await install('Mosquitto and PostgreSQL', { devices: 4 });
  const { mosquitto } = station;
  assert.ok(mosquitto);
  await station.startBackend();
  const connections = async (): Promise<number> => (await station.logged('mqtt_connected')).length;
  const token = await station.logIn();
  {
    const { login, session } = lampOf(station);
    await using lamp = await waitFor('its login', () => connectDevice(station.mqttUrl, login, session));
    await lamp.publish('state', { state: { on: false } });
  }
  // Now its session is on the broker's disk and survives a kill of the broker.
  await mosquitto.stop('SIGTERM');
  await mosquitto.start();
  await waitFor('the backend to be online again', async () => (await connections()) === 2);
  // The broker is online, but does not answer.
  const stopping = mosquitto.stop('SIGSTOP');
  const failed = await command(station, token, true);
  assert.equal(failed.status, 'failed');
  await mosquitto.stop('SIGKILL');
  await stopping;
  await mosquitto.start();
  await waitFor('the backend to be online again', async () => (await connections()) === 3);
  const sent = await command(station, token, false);
  assert.equal(sent.status, 'pending');
  const commandIds = await receiveUntil(station, sent.commandId);
  assert.deepEqual(commandIds, [sent.commandId]);
  assert.deepEqual(await station.logged('not a log line'), []);
});

/** Ids of the commands that the broker kept for the lamp, up to this one. */
async function receiveUntil(station: Installation, commandId: string): Promise<string[]> {
  const { login, session } = lampOf(station);
  const commandIds: string[] = [];
  const client = connect(station.mqttUrl, { ...session, username: login.externalId, password: login.token });
  try {
    // They arrive together with the broker's CONNACK.
    client.on('message', (_topic, payload) => {
      commandIds.push((JSON.parse(payload.toString('utf8')) as { commandId: string }).commandId);
    });
    await waitFor('the later command', () => commandIds.includes(commandId));
    return commandIds;
  } finally {
    await client.endAsync(true);
  }
}
