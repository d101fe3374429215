import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { addDevice, connectDevice, type DeviceLogin } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

const statusOf = async ({ backend }: RunningBackend, { id }: DeviceLogin): Promise<string> =>
  (await backend.db.selectFrom('devices').select('status').where('id', '=', id).executeTakeFirstOrThrow()).status;

function watchStatuses({ backend }: RunningBackend): string[] {
  const statuses: string[] = [];
  backend.deviceEvents.subscribe((event) => {
    if (event.kind === 'status') statuses.push(event.status);
  });
  return statuses;
}

test('a device goes offline by its last will, once, and online with its next message', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  const statuses = watchStatuses(running);
  await using lamp = await connectDevice(running.backend.mqttAddress ?? '', login);
  await lamp.publish('heartbeat', { status: 'online' });
  await lamp.publish('heartbeat', { status: 'online' });
  lamp.client.stream.destroy();
  await until('it is offline', () => statuses.length > 1);
  assert.equal(await statusOf(running, login), 'offline');
  await using again = await connectDevice(running.backend.mqttAddress ?? '', login);
  await again.publish('state', { state: { power: true } });
  assert.deepEqual(statuses, ['online', 'offline', 'online']);
});

test('a connection that replaces another of the same device does not show it as offline', async () => {
  await using running = await runBackend();
  const login = await addDevice(running.backend.db, 'lamp-1');
  const other = await addDevice(running.backend.db, 'lamp-2');
  const statuses = watchStatuses(running);
  const address = running.backend.mqttAddress ?? '';
  await using first = await connectDevice(address, login, { clientId: 'lamp' });
  await first.publish('heartbeat', { status: 'online' });
  await using second = await connectDevice(address, login, { clientId: 'lamp' });
  await second.publish('heartbeat', { status: 'online' });
  assert.ok(!first.client.connected);
  // A device that is really offline since then shows when the first would have been shown so.
  await using gone = await connectDevice(address, other);
  gone.client.stream.destroy();
  await until('the other one is offline', () => statuses.includes('offline'));
  assert.deepEqual(statuses, ['online', 'offline']);
  assert.equal(await statusOf(running, login), 'online');
});

test('a restart of the backend shows no device as offline', async () => {
  await using folder = await temporaryFolder();
  const options = { dataDir: join(folder.path, 'data') };
  let login: DeviceLogin;
  let before: string[];
  {
    await using running = await runBackend(options);
    login = await addDevice(running.backend.db, 'lamp-1');
    before = watchStatuses(running);
    const lamp = await connectDevice(running.backend.mqttAddress ?? '', login);
    await lamp.publish('heartbeat', { status: 'online' });
  }
  await using running = await runBackend(options);
  const after = watchStatuses(running);
  assert.equal(await statusOf(running, login), 'online');
  await using lamp = await connectDevice(running.backend.mqttAddress ?? '', login);
  await lamp.publish('heartbeat', { status: 'online' });
  assert.deepEqual([before, after], [['online'], []]);
});

test('an end of the backend loses no message at QoS 0 that it has received', async () => {
  await using folder = await temporaryFolder();
  const options = { dataDir: join(folder.path, 'data') };
  const count = 200;
  let login: DeviceLogin;
  {
    await using running = await runBackend(options);
    login = await addDevice(running.backend.db, 'switch-1', 'switch-pir');
    await using pressed = await connectDevice(running.backend.mqttAddress ?? '', login);
    const presses = Array.from({ length: count }, (_, n) => ({ action: 'button_press', n }));
    await Promise.all(presses.map((data) => pressed.publish('event', { event: 'user_event', data }, 0)));
    let isReceiving = false;
    running.backend.deviceEvents.subscribe((event) => (isReceiving ||= event.kind === 'reports'));
    await until('the first is written', () => isReceiving);
  }
  await using running = await runBackend(options);
  const rows = await running.backend.db.selectFrom('device_events').select('data').execute();
  assert.deepEqual(
    rows.map(({ data }) => (JSON.parse(data) as { n: number }).n).sort((a, b) => a - b),
    Array.from({ length: count }, (_, n) => n),
  );
});
