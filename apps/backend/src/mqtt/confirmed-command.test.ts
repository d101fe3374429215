import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { until } from '../../testing/until.ts';

test('a command of a person reaches the device with its id, and the confirmation comes back', async () => {
  await using running = await runBackend();
  const { accessToken } = await running.setUp();
  const { db, deviceEvents, mqttAddress } = running.backend;
  const login = await addDevice(db, 'lamp-1');
  await using lamp = await connectDevice(mqttAddress ?? '', login);
  const statuses: string[] = [];
  using _listening = deviceEvents.subscribe((event) => {
    if (event.kind === 'command') statuses.push(event.command.status);
  });
  const answer = await running.http.inject({
    method: 'POST',
    url: `/api/devices/${login.id}/command`,
    headers: bearer(accessToken),
    payload: { action: 'turn_on' },
  });
  assert.equal(answer.statusCode, 202, answer.body);
  await until('the command arrives', () => lamp.received.length > 0);
  const { commandId, ...rest } = lamp.received[0]?.body ?? {};
  assert.deepEqual(rest, { action: 'turn_on' });
  assert.equal(commandId, answer.json<{ commandId: string }>().commandId);
  await lamp.publish('event', { event: 'device_event', data: { action: 'command_ack', commandId } });
  await until('it is confirmed', () => statuses.length === 2);
  assert.deepEqual(statuses, ['pending', 'confirmed']);
});
