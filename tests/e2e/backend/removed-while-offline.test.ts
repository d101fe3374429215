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
  assert.equal(((await answer.json()) as { told: boolean }).told, false);
  await station.stopBackend('SIGTERM');
  await mosquitto.start();
  await logIn(removed);
  await station.startBackend();
  {
    await using lamp = await connectDevice(station.mqttUrl, removed);
    await lamp.publish('handshake', { type: 'light', firmwareVersion: '1.0.0', chip: 'esp32' });
    const command = await waitFor('factory_reset', () =>
      lamp.received.find(({ body }) => body['action'] === 'factory_reset'),
    );
    assert.ok(lamp.received.some(({ body }) => body['status'] === 'unknown_device'));
    const data = { action: 'command_ack', commandId: command.body['commandId'] };
    await lamp.publish('event', { event: 'device_event', data }).catch(() => undefined);
  }
  await waitFor('its login to be removed', () =>
    logIn(removed).then(
      () => false,
      () => true,
    ),
  );
  await logIn(kept);
});
