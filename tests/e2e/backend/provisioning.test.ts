import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { ManualProvisionings } from '@station/protocol/provisioning';
import { handshake, provisioningStation } from '@station/backend/testing/provisioning-station';
import { addDevice, connectDevice } from '@station/backend/testing/test-device';
import { createMosquitto, type Mosquitto } from '../../rig/mosquitto.ts';
import { waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';

/** The broker keeps one password for each device, so it cannot accept an old and a new login together. */
describe('adding devices with the logins of Mosquitto', { timeout: 600_000 }, () => {
  const life = new AsyncDisposableStack();
  let mosquitto: Mosquitto;
  let station: Awaited<ReturnType<typeof provisioningStation>>;

  const addManually = async (externalId: string): Promise<ManualProvisionings[number]> => {
    const body = { devices: [{ externalId, type: 'light' }] };
    const response = await station.call('POST', '/api/provisioning/manual', body);
    assert.equal(response.statusCode, 201, response.body);
    const [made] = response.json<ManualProvisionings>();
    assert.ok(made);
    return made;
  };
  /** A device of the station that is online with its login. */
  const knownDevice = async (externalId: string) => {
    const made = await addManually(externalId);
    const lamp = await station.connect(made.login);
    await lamp.publish('heartbeat', { status: 'online' });
    await lamp.publish('handshake', handshake);
    await station.reaches(made.provisioning.id, 'succeeded');
    return { lamp, login: made.login };
  };
  const nothingToRemove = async (): Promise<boolean> =>
    (await station.db.selectFrom('removed_logins').selectAll().execute()).length === 0;
  const mayLogIn = async (values: Record<string, unknown>): Promise<boolean> => {
    const lamp = await station.connect(values).catch(() => null);
    await lamp?.[Symbol.asyncDispose]();
    return lamp !== null;
  };

  before(async () => {
    mosquitto = await createMosquitto(life.use(await createWorkspace()));
    const env = { MQTT_URL: `mqtt://backend:${mosquitto.password}@127.0.0.1:${mosquitto.port}` };
    station = life.use(await provisioningStation({ env }));
    await waitFor('the broker', async () => (await station.call('GET', '/api/health')).statusCode === 200);
  });
  after(() => life.disposeAsync());

  it('makes the login before it is written, and the device uses it', async () => {
    const id = await station.add('lamp-1');
    const write = await station.write();
    assert.equal(`mqtt://${write.payload['mqtt_host']}:${write.payload['mqtt_port']}`, station.broker);
    await using lamp = await station.connect(write.payload);
    write.end({ ok: true });
    await station.reaches(id, 'waiting');
    await lamp.publish('handshake', handshake);
    await station.reaches(id, 'succeeded');
    await waitFor('the answer', () => lamp.received.some(({ body }) => body['status'] === 'ok'));
  });

  it('revokes it when the write fails', async () => {
    const id = await station.add('lamp-2');
    const write = await station.write(2);
    assert.ok(await mayLogIn(write.payload));
    write.end({ ok: false, error: 'connect_failed' });
    await station.reaches(id, 'failed');
    await waitFor('its login is gone', async () => !(await mayLogIn(write.payload)));
    await waitFor('that is noted', nothingToRemove);
  });

  it('keeps the login of a device that the station has until the new one was written', async () => {
    const { login } = await knownDevice('lamp-3');
    const failing = await station.add('lamp-3');
    const first = await station.write(3);
    first.end({ ok: false, error: 'connect_failed' });
    await station.reaches(failing, 'failed');
    assert.ok(await mayLogIn(login));
    const id = await station.add('lamp-3');
    const second = await station.write(4);
    second.end({ ok: true });
    await waitFor('its new login', () => mayLogIn(second.payload));
    assert.equal(await mayLogIn(login), false);
    await using lamp = await station.connect(second.payload);
    await lamp.publish('handshake', handshake);
    await station.reaches(id, 'succeeded');
  });

  it('replaces a login by hand when the device is offline, and not before', async () => {
    const { lamp, login } = await knownDevice('lamp-4');
    const made = await addManually('lamp-4');
    await lamp.publish('handshake', handshake);
    await lamp.publish('state', { state: { on: true } });
    assert.equal(await mayLogIn(made.login), false);
    assert.ok(lamp.client.connected);
    // Somebody enters the new login, and the device restarts with it.
    await lamp[Symbol.asyncDispose]();
    await waitFor('its new login', () => mayLogIn(made.login));
    assert.equal(await mayLogIn(login), false);
    await using again = await station.connect(made.login);
    await again.publish('handshake', handshake);
    await station.reaches(made.provisioning.id, 'succeeded');
  });

  it('makes nothing while the broker is offline, and says so', async () => {
    await mosquitto.stop();
    const refused = await station.call('POST', '/api/provisioning/manual', {
      devices: [1, 2].map((n) => ({ externalId: `new-${n}`, type: 'light' })),
    });
    assert.equal(refused.statusCode, 503);
    const { provisionings } = await station.view();
    const failed = provisionings.filter(({ externalId }) => externalId.startsWith('new-'));
    assert.deepEqual(new Set(failed.map(({ error }) => error)), new Set(['broker_unavailable']));
    await mosquitto.start();
    const again = { devices: [{ externalId: 'new-1', type: 'light' }] };
    await waitFor(
      'another try to succeed',
      async () => (await station.call('POST', '/api/provisioning/manual', again)).statusCode < 300,
    );
    await waitFor('the other login is gone', nothingToRemove);
  });

  it('adds a device again whose removal the broker was not told', async () => {
    const { lamp } = await knownDevice('lamp-5');
    await lamp[Symbol.asyncDispose]();
    const [device] = (await station.devices()).filter(({ externalId }) => externalId === 'lamp-5');
    await station.call('DELETE', `/api/devices/${device?.id}`);
    const made = await addManually('lamp-5');
    await using again = await station.connect(made.login);
    await again.publish('handshake', handshake);
    await station.reaches(made.provisioning.id, 'succeeded');
    assert.ok(again.received.every(({ body }) => body['status'] === 'ok'));
    const other = await addDevice(station.db, 'unrelated');
    await assert.rejects(connectDevice(station.broker, other));
  });
});
