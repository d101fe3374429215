import assert from 'node:assert/strict';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import { runBackend } from '../testing/running-backend.ts';
import { addDevice, connectDevice } from '../testing/test-device.ts';

test('a device that subscribes without a pause is disconnected, and may connect again after a while; others go on', async () => {
  await using running = await runBackend();
  const address = running.backend.mqttAddress ?? '';
  const { token: password } = await addDevice(running.backend.db, 'lamp-1');
  const other = await addDevice(running.backend.db, 'lamp-2');
  const login = { username: 'lamp-1', password, reconnectPeriod: 0, protocolVersion: 4 } as const;
  await using door = await connectDevice(address, other);
  const flood = await connectAsync(address, login, false);
  flood.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => flood.once('close', () => resolve()));
  const filters = Array.from({ length: 15_000 }, (_, at) => at.toString(36));
  for (let count = 0; count < 2; count++) flood.subscribe(filters, () => undefined);
  await closed;
  await assert.rejects(connectAsync(address, login, false), /unavailable/i);
  await door.publish('state', { state: { on: true } });
  assert.deepEqual(
    running.logger.events('mqtt_connection_refused').map(({ reason }) => reason),
    ['too_much'],
  );
});
