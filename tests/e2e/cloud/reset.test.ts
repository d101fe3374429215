import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { test } from 'node:test';
import { addDevice, connectDevice } from '../../../apps/backend/testing/test-device.ts';
import { waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { claimBy, livingStation } from './living-station.ts';
import { sweep } from './sweep.ts';

/** Delay before the process ends. A lost link may be up again before that. */
const endingMs = 100;
const ack = '{"type":"station_reset_ack"}';

test('a network fault at any message of a reset: devices are reset once, and the station is unclaimed once', async (t) => {
  await using workspace = await createWorkspace();
  const station = await livingStation(workspace);
  const { cloud, events, resets } = station;
  const login = await addDevice(station.backend().backend.db, 'porch', 'pir');
  let token = '';

  const swept = await sweep({
    ...station,
    // The acknowledgement; the reset.
    least: { from_station: 1, to_station: 1 },
    prepare: async () => {
      token = await claimBy(cloud);
    },
    round: async ({ number, endFaults }) => {
      await using device = await connectDevice(station.backend().backend.mqttAddress ?? '', login);
      const factoryResets = () => device.received.filter(({ body }) => body['action'] === 'factory_reset').length;
      const before = cloud.frames.length;
      const since = () => cloud.frames.slice(before).map(({ text }) => text);
      // The cloud repeats it after each login until it is acknowledged.
      cloud.options.onAuthenticated = (link) => void (since().includes(ack) || link.send({ type: 'station_reset' }));
      (await cloud.connection()).send({ type: 'station_reset' });
      await waitFor('the command at the device', () => factoryResets() > 0);
      await waitFor('the end of the process', () => resets() > number);
      await sleep(endingMs);
      await station.restart();
      endFaults();
      await waitFor('the station to wait for a claim', () => cloud.waiting().length === 1);
      cloud.options.onAuthenticated = () => undefined;
      assert.equal(factoryResets(), 1, 'the device gets one command');
      assert.equal(resets(), number + 1, 'the process ends once');
      const phases = events('cloud_station_reset').slice(2 * number);
      assert.deepEqual(
        phases.map(({ phase, reached }) => [phase, reached]),
        [
          ['begun', 0],
          ['done', 1],
        ],
      );
      const afterRestart = since().slice(since().findLastIndex((text) => text.includes('claim_handshake')));
      assert.ok(!afterRestart.some((text) => text.includes(token)), 'the old token is not used again');
    },
  });
  assert.equal(events('cloud_claimed').length, swept.rounds);
  assert.deepEqual(events('unexpected_error'), []);
  t.diagnostic(`the network failed at ${swept.failures} messages, in ${swept.rounds} rounds`);
});
