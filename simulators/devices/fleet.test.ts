import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { runBackend, bearer } from '@station/backend/testing/running-backend';
import { temporaryFolder } from '@station/backend/testing/temporary-folder';
import { until } from '@station/backend/testing/until';
import { readOrMakeLogins } from './devices-file.ts';
import { startFleet } from './fleet.ts';

const stationId = '5b6e7c3a-63f9-4dbc-9ac4-d33a1e3e1a54';

test('devices from a file connect, report, execute commands, and reconnect after a restart of the backend', async () => {
  await using folder = await temporaryFolder();
  const devicesFile = join(folder.path, 'devices.json');
  const logins = await readOrMakeLogins(devicesFile, 8);
  assert.deepEqual(await readOrMakeLogins(devicesFile, 99), logins);
  const options = { dataDir: join(folder.path, 'data'), env: { STATION_ID: stationId, DEVICES_FILE: devicesFile } };
  await using stack = new AsyncDisposableStack();
  let running = stack.use(await runBackend(options));
  const url = running.backend.mqttAddress ?? '';
  const fleet = stack.use(startFleet({ url, stationId, logins, speed: 1000 }));
  const isComplete = (): boolean => fleet.acceptedCount() === 8;
  await until('all handshakes are accepted', isComplete);
  const { accessToken } = await running.setUp();

  const lamp = fleet.devices[3];
  const { externalId } = logins[3] ?? {};
  assert.ok(lamp && externalId);
  const { id } = await running.backend.db
    .selectFrom('devices')
    .select('id')
    .where('external_id', '=', externalId)
    .executeTakeFirstOrThrow();
  const statuses: string[] = [];
  running.backend.deviceEvents.subscribe((event) => {
    if (event.kind === 'command') statuses.push(event.command.status);
  });
  const answer = await running.http.inject({
    method: 'POST',
    url: `/api/devices/${id}/command`,
    headers: bearer(accessToken),
    payload: { action: 'set_brightness', params: { brightness: 33 } },
  });
  assert.equal(answer.statusCode, 202, answer.body);
  await until('the command is confirmed', () => statuses.includes('confirmed'));
  assert.equal(lamp.state['brightness'], 33);

  const { port } = new URL(url);
  await running[Symbol.asyncDispose]();
  await until('all devices are disconnected', () => fleet.acceptedCount() === 0);
  running = stack.use(await runBackend({ ...options, env: { ...options.env, MQTT_PORT: port } }));
  await until('all handshakes are accepted again', isComplete);
  const { db } = running.backend;
  await until('all devices have reported', async () => {
    const rows = await db.selectFrom('devices').select(['status', 'state']).execute();
    return rows.every(({ status, state }) => status === 'online' && state !== '{}');
  });
});
