import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Start } from '../automations/run-rows.ts';
import { listenForTriggers, type TriggerListenerParts } from '../automations/trigger-listener.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { postgresDatabase, postgresUrl } from '../../testing/test-postgres.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';
import { createDeviceEvents } from '../core/device-events.ts';

test('with the state of one device unreadable, the backend starts, lists all devices and accepts its next state', async () => {
  await using folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  // Created here and not by a backend, because it must outlive the first one.
  await using _database = postgresUrl === null ? null : await postgresDatabase(postgresUrl, dataDir);
  const { token, lamp } = await (async () => {
    await using first = await runBackend({ dataDir });
    const { accessToken } = await first.setUp();
    const login = await addDevice(first.backend.db, 'lamp-1');
    await addDevice(first.backend.db, 'lamp-2');
    await first.backend.db.updateTable('devices').set({ state: '{"power":tr' }).where('id', '=', login.id).execute();
    return { token: accessToken, lamp: login };
  })();
  await using second = await runBackend({ dataDir });
  const states = async () => {
    const response = await second.http.inject({ url: '/api/devices', headers: bearer(token) });
    assert.equal(response.statusCode, 200, response.body);
    const devices = response.json<{ externalId: string; state: unknown }[]>();
    return Object.fromEntries(devices.map(({ externalId, state }) => [externalId, state]));
  };
  assert.deepEqual(await states(), { 'lamp-1': {}, 'lamp-2': {} });
  await using device = await connectDevice(second.backend.mqttAddress ?? '', lamp);
  await device.publish('state', { state: { power: true } });
  assert.deepEqual(await states(), { 'lamp-1': { power: true }, 'lamp-2': {} });
});

test('an unreadable earlier state stops neither the trigger of its device nor those of other devices', async () => {
  const logger = recordedLog();
  const events = createDeviceEvents(logger);
  const started: (string | null)[] = [];
  const data = { kind: 'device_state_changed', config: { deviceId: 'lamp', capability: 'power' } };
  const armed = [{ automation: { id: 'a' }, nodeId: 'n', data }];
  using _listening = listenForTriggers({
    events,
    // Only these columns are read.
    registry: { ofDevice: () => armed as never },
    runner: { start: async ({ trigger }: Start) => void started.push(trigger.deviceId) },
    newId: () => 'id',
    clock: manualClock(),
    logger,
  } as unknown as TriggerListenerParts);
  const reports = ['lamp', 'hall'].map(
    (deviceId) => ({ kind: 'state', deviceId, at: 1, state: { power: true } }) as const,
  );
  const before = new Map([
    ['lamp', '{"power":fa'],
    ['hall', '{"power":false}'],
  ]);
  events.emit({ kind: 'reports', reports, before });
  assert.deepEqual(logger.events('unexpected_error'), []);
  await until('both are started', () => started.length === 2);
  assert.deepEqual(started, ['lamp', 'hall']);
});
