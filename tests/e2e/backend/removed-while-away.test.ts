import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectDevice } from '@station/backend/testing/test-device';
import { waitFor } from '../../rig/program.ts';
import { install, stationId } from './installation.ts';

test('a device that is removed while the broker is offline loses its login when the broker is online again', async () => {
  await using station = await install('Mosquitto and PostgreSQL', { devices: 2 });
  const { mosquitto } = station;
  assert.ok(mosquitto);
  await station.startBackend();
  const [removed, kept] = station.logins.map(({ externalId, token }) => ({ stationId, id: '', externalId, token }));
  assert.ok(removed && kept);
  const logIn = async (login: typeof removed): Promise<void> => {
    await using _device = await connectDevice(station.mqttUrl, login);
  };
  await waitFor('its login', () => logIn(removed).then(() => true));
  const [row] = await station.query<{ id: string }>(
    `select id from devices where external_id = '${removed.externalId}'`,
  );
  const headers = { authorization: `Bearer ${await station.logIn()}` };
  await mosquitto.stop();
  const answer = await fetch(`${station.url}/api/devices/${row?.id}`, { method: 'DELETE', headers });
  assert.equal(answer.status, 204);
  await station.stopBackend('SIGTERM');
  await mosquitto.start();
  await logIn(removed);
  await station.startBackend();
  await waitFor('its login to be removed', () =>
    logIn(removed).then(
      () => false,
      () => true,
    ),
  );
  await logIn(kept);
});
