import assert from 'node:assert/strict';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { startForgetfulBroker } from '../../testing/forgetful-broker.ts';
import { runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';

const healthOf = async ({ http }: RunningBackend): Promise<[number, boolean]> => {
  const answer = await http.inject('/api/health');
  return [answer.statusCode, answer.json<{ checks: { mqtt: boolean } }>().checks.mqtt];
};

test('a backend whose link comes back at once stays healthy; one whose broker is offline does not', async () => {
  // Time stands still, so that the broker is back in time on any machine; then each reading of the clock is a second after the one before.
  let now = 0;
  let stepMs = 0;
  const clock = { ...systemClock, monotonic: () => (now += stepMs) };
  const broker = await startForgetfulBroker(5);
  await using running = await runBackend({ env: { MQTT_URL: broker.url }, clock });
  const disconnections = (): number => running.logger.events('mqtt_disconnected').length;
  assert.deepEqual(await healthOf(running), [200, true]);
  broker.cut();
  await until('the link is down', () => disconnections() > 0);
  assert.deepEqual(await healthOf(running), [200, true]);
  assert.equal(broker.connections, 2);
  const before = disconnections();
  await broker[Symbol.asyncDispose]();
  await until('the link is down for good', () => disconnections() > before);
  stepMs = 1_000;
  assert.deepEqual(await healthOf(running), [503, false]);
});
