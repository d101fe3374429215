import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CloudClaim, CloudStatus } from '@station/protocol/cloud';
import { startReferenceCloud } from '../../../simulators/cloud/reference-cloud.ts';
import { waitFor } from '../../rig/program.ts';
import { get, setUpOwner, startCluster } from '../replicas/cluster.ts';

test('a disconnect at another replica ends the link of the leader and creates a new code', async () => {
  await using cloud = await startReferenceCloud({});
  await using cluster = await startCluster(['one', 'two'], 1, { CLOUD_HOST: cloud.host });
  const user = await setUpOwner(cluster);
  const leader = await waitFor('a leader', () => cluster.leader());
  const other = cluster.replicas.find((replica) => replica !== leader);
  assert.ok(other);
  const waiting = await waitFor('the station to wait for a claim', () => cloud.waiting()[0]);
  assert.ok(cloud.claim(waiting.chipId, waiting.claimSecret) !== null);
  const link = await cloud.connection();

  const headers = { authorization: `Bearer ${user}` };
  assert.equal((await fetch(`${other.url}/api/cloud/unclaim`, { method: 'POST', headers })).status, 204);
  await waitFor('the link to end', () => !link.isOpen());
  const { body: claim } = await get<CloudClaim>(`${other.url}/api/cloud/claim`, user);
  assert.notEqual(claim.claimSecret, waiting.claimSecret);
  await waitFor('the new code at the cloud', () => cloud.claim(claim.chipId, claim.claimSecret));
  await cloud.connection();
  const { body: status } = await get<CloudStatus>(`${leader.url}/api/cloud/status`, user);
  assert.ok(status.claimedAt !== null);
});
