import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitFor } from '../../rig/program.ts';
import { assertRests, createStory, shortGate } from './story.ts';

test('without registry and release server', async (t) => {
  await using story = await createStory({ env: shortGate });
  const { rig, agent } = story;

  await t.test('a bad release is rolled back when the registry is offline after the pull', async () => {
    await rig.release({ version: '1.1.0', behaviour: 'unhealthy' });
    const before = agent.events.length;
    const { body } = await agent.call('POST', '/update?wait=false');
    assert.equal(typeof body['operationId'], 'string');
    await waitFor('the switch', () => agent.events.slice(before).some((line) => line.event === 'docker_restart'));
    await rig.registry.stop();
    await rig.releases.goOffline();
    await agent.event('rollback_completed', { after: before });
    await agent.idle();
    await assertRests(story, '1.0.0');
    await rig.registry.start();
    await rig.releases.goOnline();
  });

  await t.test('a manual rollback needs no network, not even after images were pruned', async () => {
    await rig.release({ version: '1.2.0' });
    assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
    await agent.idle();
    await rig.engine.docker('image', 'prune', '-af');
    await rig.registry.stop();
    await rig.releases.goOffline();
    const answer = await agent.call('POST', '/rollback');
    assert.deepEqual([answer.status, answer.body['result'], answer.body['to']], [200, 'rolled_back', '1.0.0']);
    await assertRests(story, '1.0.0');
  });

  await t.test('a second rollback does not return to the release that was left', async () => {
    assert.equal((await agent.status()).rollback, null);
    assert.equal(await agent.readState('rollback.json'), null);
    const answer = await agent.call('POST', '/rollback');
    assert.deepEqual([answer.status, answer.body['code']], [409, 'nothing_to_roll_back']);
    await assertRests(story, '1.0.0');
  });

  await t.test('the release that was left can be installed by its version, offline', async () => {
    const answer = await agent.call('POST', '/update', { body: { version: '1.2.0' } });
    assert.deepEqual([answer.status, answer.body['result']], [200, 'updated']);
    await assertRests(story, '1.2.0');
  });

  await t.test(
    'whoever does not wait is answered before a slow release server, and reads the result later',
    async () => {
      await rig.releases.goOnline();
      rig.releases.setLatency(8_000);
      const asked = rig.releases.requests.length;
      const { status, body } = await agent.call('POST', '/update?wait=false');
      assert.equal(status, 202);
      assert.equal(rig.releases.requests.length, asked, 'the release server has not answered yet');
      const { operation } = await agent.status();
      assert.deepEqual([operation?.id, operation?.phase], [body['operationId'], 'preparing']);
      assert.equal((await agent.call('POST', '/rollback')).body['code'], 'update_in_progress');
      await rig.releases.goOffline();
      rig.releases.setLatency(0);
      const [entry] = (await agent.idle()).history;
      assert.deepEqual(
        [entry?.id, entry?.result, entry?.code],
        [body['operationId'], 'failed', 'manifest_unavailable'],
      );
      await assertRests(story, '1.2.0');
    },
  );

  await t.test(
    'whoever asks for a rollback is answered before a check that waits for a slow release server',
    async () => {
      await rig.releases.goOnline();
      rig.releases.setLatency(8_000);
      const asked = rig.releases.requests.length;
      const checking = agent.call('POST', '/check');
      // Once it has answered, it has read the request before, too.
      await agent.status();
      const { status, body } = await agent.call('POST', '/rollback?wait=false');
      assert.equal(status, 202);
      assert.equal(rig.releases.requests.length, asked, 'the release server has not answered yet');
      const { operation } = await agent.status();
      assert.deepEqual(
        [operation?.id, operation?.kind, operation?.phase],
        [body['operationId'], 'rollback', 'preparing'],
      );
      rig.releases.setLatency(0);
      await checking;
      const [entry] = (await agent.idle()).history;
      assert.deepEqual([entry?.id, entry?.kind, entry?.result], [body['operationId'], 'rollback', 'rolled_back']);
      await rig.releases.goOffline();
      await assertRests(story, '1.0.0');
      await agent.call('POST', '/update', { body: { version: '1.2.0' } });
      await assertRests(story, '1.2.0');
    },
  );

  await t.test('an update reports that it cannot be fetched, and changes nothing', async () => {
    const answer = await agent.call('POST', '/update');
    assert.deepEqual([answer.status, answer.body['code']], [502, 'manifest_unavailable']);
    await assertRests(story, '1.2.0');
  });

  await t.test(
    'reports rollback_unavailable when the operator removes all images of the previous release',
    async () => {
      await rig.engine.docker('container', 'prune', '-f');
      await rig.engine.docker('image', 'prune', '-af');
      const answer = await agent.call('POST', '/rollback');
      assert.equal(answer.status, 502);
      await agent.idle();
      await assertRests(story, '1.2.0');
      // It is raised after the operation has ended, when the engine has been asked for the images.
      const isRaised = async () => (await agent.status()).conditions.some(({ id }) => id === 'rollback_unavailable');
      await waitFor('the condition rollback_unavailable', async () => (await isRaised()) || null);
    },
  );
});

test('a rollback without a previous release is refused', async () => {
  await using story = await createStory();
  const answer = await story.agent.call('POST', '/rollback');
  assert.deepEqual([answer.status, answer.body['code']], [409, 'nothing_to_roll_back']);
});
