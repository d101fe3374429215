import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentEnv, createAgentProcess } from '../../rig/agent-process.ts';
import { pinnedByDigest } from '../../rig/small-stack.ts';
import { assertRests, createStory, isUnsigned, shortGate } from './story.ts';

test('good and bad releases on a real engine', async (t) => {
  await using story = await createStory({ env: shortGate });
  const { rig, agent } = story;

  await t.test('the running stack is adopted unchanged', async () => {
    const status = await agent.status();
    assert.equal(status.currentVersion, '1.0.0');
    assert.deepEqual(status.stack.services.map(({ name, state }) => [name, state]).sort(), [
      ['backend', 'running'],
      ['frontend', 'running'],
    ]);
    assert.ok(isUnsigned(status), 'nothing signs the releases of this station');
  });

  await t.test('a good release is installed, with progress by bytes and events in order', async () => {
    const release = await rig.release({ version: '1.1.0', ballast: [3_000_000, 2_000_000] });
    const before = agent.events.length;
    const answer = await agent.call('POST', '/update');
    assert.equal(answer.status, 200);
    assert.equal(answer.body['result'], 'updated');
    assert.deepEqual([answer.body['from'], answer.body['to']], ['1.0.0', '1.1.0']);
    assert.ok((answer.body['downtimeMs'] as number) > 0);
    await assertRests(story, '1.1.0');
    const seen = agent.events.slice(before);
    const order = ['update_start', 'docker_pull', 'docker_restart', 'healthcheck_passed', 'update_completed'];
    const places = order.map((name) => seen.findIndex((line) => line.event === name));
    assert.deepEqual(
      places,
      [...places].sort((a, b) => a - b),
      `events ${order.join(', ')} come in order`,
    );
    assert.ok(
      places.every((place) => place >= 0),
      'every event came',
    );
    const start = seen.find((line) => line.event === 'update_start');
    assert.deepEqual(start?.['images'], release.manifest.images);
    const pulls = seen.filter((line) => line.event === 'docker_pull' && line['service'] === 'backend');
    assert.ok(
      pulls.every((line) => (line['totalBytes'] as number) > 5_000_000),
      'the size is known from the registry',
    );
    const rollback = JSON.parse((await agent.readState('rollback.json')) ?? '') as {
      version: string;
      imageIds: object;
    };
    assert.equal(rollback.version, '1.0.0');
    assert.equal(Object.keys(rollback.imageIds).length, 2);
  });

  await t.test('the same release is already current', async () => {
    const answer = await agent.call('POST', '/update', { body: {} });
    assert.deepEqual([answer.status, answer.body['result']], [200, 'already_current']);
  });

  await t.test('an unhealthy release is rolled back and quarantined', async () => {
    await rig.release({ version: '1.2.0', behaviour: 'unhealthy' });
    const answer = await agent.call('POST', '/update');
    assert.equal(answer.status, 500);
    assert.equal(answer.body['code'], 'update_rolled_back');
    assert.deepEqual((answer.body['details'] as { from: string; to: string }).to, '1.2.0');
    await assertRests(story, '1.1.0');
    const status = await agent.status();
    assert.deepEqual(
      status.quarantined.map(({ version }) => version),
      ['1.2.0'],
    );
    assert.equal(status.updateAvailable, false);
    assert.equal(status.history[0]?.result, 'rolled_back');
  });

  await t.test('a quarantined release is installed only when it is requested by its version', async () => {
    assert.equal((await agent.call('POST', '/update')).status, 409);
    const answer = await agent.call('POST', '/update', { body: { version: '1.2.0' } });
    assert.equal(answer.body['code'], 'update_rolled_back');
    await assertRests(story, '1.1.0');
  });

  await t.test('a crash-looping release is rolled back long before the gate ends', async () => {
    // A long gate, so that the early rollback does not depend on the machine's speed.
    const patient = await createAgentProcess(rig.workspace, agentEnv(rig, { HEALTHCHECK_TIMEOUT_SECONDS: '600' }));
    await agent.stop();
    await patient.start();
    await patient.idle();
    await rig.release({ version: '1.3.0', behaviour: 'crash-loop' });
    assert.equal((await patient.call('POST', '/update')).body['code'], 'update_rolled_back');
    const failed = patient.events.find((line) => line.event === 'healthcheck_failed');
    assert.equal(failed?.['reason'], 'a service keeps crashing');
    await patient.stop();
    await agent.start();
    await agent.idle();
    await assertRests(story, '1.1.0');
  });

  await t.test('a release whose image is missing does not change the stack', async () => {
    const containers = await rig.stack.containers();
    await rig.release({ version: '1.4.0', missing: ['frontend'] });
    const answer = await agent.call('POST', '/update');
    assert.deepEqual([answer.status, answer.body['code']], [502, 'image_missing']);
    assert.deepEqual((await rig.stack.containers()).map(({ id }) => id).sort(), containers.map(({ id }) => id).sort());
    await assertRests(story, '1.1.0');
  });

  await t.test('a release pinned by digest is installed', async () => {
    const release = await rig.stack.publish({ version: '1.5.0' });
    rig.releases.setManifest(pinnedByDigest(release).manifest);
    assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
    await assertRests(story, '1.5.0');
    const other = await agent.call('POST', '/update', { body: { version: '1.0.1' } });
    assert.deepEqual([other.status, other.body['code']], [422, 'version_not_derivable']);
  });

  await t.test('another version of the manifest is installed by its tag, also an older one', async () => {
    await rig.release({ version: '1.6.0' });
    assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
    const answer = await agent.call('POST', '/update', { body: { version: 'v1.0.0' } });
    assert.deepEqual([answer.body['result'], answer.body['to']], ['updated', '1.0.0']);
    await assertRests(story, '1.0.0');
  });
});
