import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect as connectSocket } from 'node:net';
import { test } from 'node:test';
import { connectAsync } from 'mqtt';
import { generate } from 'mqtt-packet';
import { deviceTopic } from '@station/protocol/topics';
import { runBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

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

test('large messages without a pause wait at their sender: the broker reads no more of them than it takes', async () => {
  await using running = await runBackend();
  const { backend } = running;
  const { id, stationId, externalId: username, token } = await addDevice(backend.db, 'lamp-1');
  const socket = connectSocket(Number(new URL(backend.mqttAddress ?? '').port), '127.0.0.1');
  const log = { cmd: 'connect', protocolId: 'MQTT', protocolVersion: 4, clean: true, keepalive: 60 } as const;
  socket.write(generate({ ...log, clientId: 'c', username, password: Buffer.from(token) }));
  await once(socket, 'data');
  const message = { cmd: 'publish', topic: deviceTopic(stationId, username, 'state'), qos: 0, retain: false } as const;
  const text = 'x'.repeat(250_000);
  let sent = 0;
  const end = performance.now() + 3_000;
  while (performance.now() < end) {
    const payload = JSON.stringify({ state: { count: sent }, text });
    const isTaken = new Promise<boolean>((resolve) => {
      socket.write(generate({ ...message, dup: false, payload }), () => resolve(true));
      setTimeout(() => resolve(false), 3_000).unref();
    });
    if (await isTaken) sent += 1;
  }
  // Some are in the buffers of the system.
  assert.ok(sent < 80, `${sent} messages`);
  await until('it is read on', async () => {
    await backend.settle();
    const row = await backend.db.selectFrom('devices').select('state').where('id', '=', id).executeTakeFirstOrThrow();
    return ((JSON.parse(row.state) as { count?: number }).count ?? 0) >= 6;
  });
  socket.destroy();
});
