import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startForgetfulBroker } from '../testing/forgetful-broker.ts';
import { runBackend, type RunningBackend } from '../testing/running-backend.ts';
import { until } from '../testing/until.ts';

const healthOf = async ({ http }: RunningBackend): Promise<[number, boolean]> => {
  const answer = await http.inject('/api/health');
  return [answer.statusCode, answer.json<{ checks: { mqtt: boolean } }>().checks.mqtt];
};

test('a backend whose link to the broker comes right back is well all the time; one whose broker is away is not', async () => {
  const broker = await startForgetfulBroker(5);
  await using running = await runBackend({ env: { MQTT_URL: broker.url } });
  assert.deepEqual(await healthOf(running), [200, true]);
  broker.cut();
  await until('the link is down', () => running.log.events('mqtt_disconnected').length === 1);
  assert.deepEqual(await healthOf(running), [200, true]);
  assert.equal(broker.connections, 2);
  await broker[Symbol.asyncDispose]();
  await until('the link is down', () => running.log.events('mqtt_disconnected').length === 2);
  assert.deepEqual(await healthOf(running), [503, false]);
});
