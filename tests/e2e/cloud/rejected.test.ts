import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CloudStatus } from '@station/protocol/cloud';
import { createReconnect, type Reconnect } from '../../../apps/backend/src/cloud/link-decide.ts';
import { bearer } from '../../../apps/backend/testing/running-backend.ts';
import { createRandom } from '../../faults/choice.ts';
import { waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { claimedStation, upTo } from './station.ts';

/** An hour takes this long here. All delays are shortened by the same factor. */
const hourMs = 6_000;
const mostAnHour = 12;

function inHaste(real: Reconnect): Reconnect {
  return { ...real, nextMs: (kind) => real.nextMs(kind) * (hourMs / 3_600_000) };
}

/** The highest number of attempts in any hour. */
const busiestHour = (attempts: readonly number[]): number =>
  Math.max(...attempts.map((from) => attempts.filter((at) => at >= from && at < from + hourMs).length));

test('a revoked token: at most a dozen attempts per hour, nothing is lost, and a restored token reconnects', async () => {
  await using workspace = await createWorkspace();
  const station = await claimedStation(workspace, { reconnect: inHaste(createReconnect(createRandom(3))) });
  const { cloud, backend, device, token } = station;
  const headers = bearer((await backend.setUp()).accessToken);
  const status = async () => (await backend.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  const conditions = async () => (await status()).conditions.map(({ id }) => id);
  assert.deepEqual(await conditions(), []);

  const before = cloud.attempts.length;
  cloud.revoke(token);
  (await cloud.connection()).close(1012, 'restarting');
  await waitFor('the condition', async () => (await conditions()).includes('cloud_rejected'));
  for (const n of upTo(10)) await device.publish('event', { event: 'device_event', data: { action: 'm', n } });
  const rejected = () => cloud.attempts.slice(before);
  const [first = 0] = await waitFor('the first attempt', () => rejected().length > 0 && rejected());
  await waitFor('an hour and a half', () => Date.now() - first > 1.5 * hourMs);
  await waitFor('the station to continue to retry', () => rejected().length >= 3);
  // It is connecting during an attempt.
  await waitFor('the state between two attempts', async () => (await status()).state === 'rejected');
  assert.ok(busiestHour(rejected()) <= mostAnHour, `${busiestHour(rejected())} attempts in an hour`);

  const logins = cloud.logins();
  cloud.restore(token);
  await waitFor('the link to be up', () => cloud.logins() > logins);
  await waitFor('the events', () => station.receivedEvents().length === 10);
  assert.deepEqual(station.receivedEvents(), upTo(10));
  await waitFor('the condition to be cleared', async () => (await conditions()).length === 0);
  const logged = ['raised', 'cleared'].map((phase) => backend.logger.events(`cloud_condition_${phase}`).length);
  assert.deepEqual(logged, [1, 1]);
});
