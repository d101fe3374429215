import assert from 'node:assert/strict';
import { test } from 'node:test';
import { agentEnv, createAgentProcess } from '../../rig/agent-process.ts';
import { waitFor } from '../../rig/program.ts';
import { assertRests, createStory } from './story.ts';

const polling = { AUTO_UPDATE: 'true', CHECK_INTERVAL_MINUTES: '0.02' };

test('with AUTO_UPDATE the station installs new releases automatically', async (t) => {
  await using story = await createStory({ env: polling });
  const { rig, agent } = story;

  await t.test('a good one', async () => {
    await rig.release({ version: '1.1.0' });
    const completed = await agent.event('update_completed');
    assert.equal(completed['currentVersion'], '1.1.0');
    await agent.idle();
    await assertRests(story, '1.1.0');
    assert.equal((await agent.status()).history[0]?.trigger, 'automatic');
  });

  await t.test('a bad one only once', async () => {
    const before = agent.events.length;
    await rig.release({ version: '1.2.0', behaviour: 'crash-loop' });
    await agent.event('rollback_completed', { after: before });
    const polls = rig.releases.requests.length;
    await waitFor('three more polls', () => rig.releases.requests.length >= polls + 3);
    assert.equal(agent.events.slice(before).filter((line) => line.event === 'update_start').length, 1);
    await assertRests(story, '1.1.0');
  });

  await t.test('never an older one', async () => {
    await rig.release({ version: '1.0.0' });
    const polls = rig.releases.requests.length;
    await waitFor('three more polls', () => rig.releases.requests.length >= polls + 3);
    await assertRests(story, '1.1.0');
  });

  await t.test('after the registry was offline', async () => {
    await rig.registry.stop().catch(() => undefined);
    const before = agent.events.length;
    const { manifest } = await (async () => {
      await rig.registry.start();
      const release = await rig.stack.publish({ version: '1.3.0' });
      await rig.registry.stop();
      return release;
    })();
    rig.releases.setManifest(manifest);
    await agent.event('update_failed', { after: before });
    await assertRests(story, '1.1.0');
    await rig.registry.start();
    await agent.event('update_completed', { after: before, timeoutMs: 120_000 });
    await agent.idle();
    await assertRests(story, '1.3.0');
  });
});

test('a person chooses over AUTO_UPDATE: it is in force at once, also after a restart, until it is taken back', async () => {
  await using story = await createStory({ env: { ...polling, AUTO_UPDATE: 'false' } });
  const { rig, agent } = story;
  const choose = async (autoUpdate: boolean | null): Promise<unknown> =>
    (await agent.call('POST', '/auto-update', { body: { autoUpdate } })).body;
  const deferred = (after: number) => agent.event('update_deferred', { after });
  await rig.release({ version: '1.1.0' });
  assert.equal((await deferred(0))['reason'], 'manual');
  await assertRests(story, '1.0.0');
  assert.deepEqual(await choose(true), { autoUpdate: true });
  await agent.event('update_completed');
  await agent.idle();
  await assertRests(story, '1.1.0');
  await agent.stop();
  await agent.start();
  assert.equal((await agent.status()).autoUpdate, true);
  const before = agent.events.length;
  assert.deepEqual(await choose(null), { autoUpdate: false });
  await rig.release({ version: '1.2.0' });
  assert.equal((await deferred(before))['reason'], 'manual');
  await assertRests(story, '1.1.0');
});

test('automatic updates wait for the maintenance window, the rollout and the agent they need', async () => {
  const now = new Date();
  const clock = (hours: number): string => `${String((now.getHours() + hours) % 24).padStart(2, '0')}:00`;
  await using story = await createStory({ env: { ...polling, MAINTENANCE_WINDOW: `${clock(3)}-${clock(5)}` } });
  const { rig, agent } = story;
  const deferred = (reason: string) =>
    waitFor(reason, () => agent.events.some((line) => line.event === 'update_deferred' && line['reason'] === reason));
  const { manifest } = await rig.release({ version: '1.1.0' });
  await deferred('maintenance_window');
  rig.releases.setManifest({ ...manifest, rollout: 0 });
  await deferred('rollout');
  rig.releases.setManifest({ ...manifest, minAgentVersion: '99.0.0' });
  await deferred('agent_too_old');
  assert.equal((await agent.status()).updateAvailable, true);
  assert.ok((await agent.status()).conditions.some(({ id }) => id === 'agent_too_old'));
  await assertRests(story, '1.0.0');
  // A person may update at any time.
  rig.releases.setManifest(manifest);
  assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
});

test('a new station installs its first release automatically', async () => {
  await using story = await createStory({ installed: false, started: false });
  const { rig } = story;
  const agent = await createAgentProcess(rig.workspace, agentEnv(rig, { BOOTSTRAP_ON_START: 'true' }), 'fresh');
  await agent.start();
  await agent.event('update_completed');
  await agent.idle();
  await assertRests({ rig, agent }, '1.0.0');
  // It also starts a stopped stack.
  await agent.stop();
  await rig.engine.compose(rig.stack.folder, 'down');
  const before = agent.events.length;
  await rig.releases.goOffline();
  await rig.registry.stop();
  await agent.start();
  await agent.event('bootstrap_done', { after: before });
  await agent.idle();
  await assertRests({ rig, agent }, '1.0.0');
});
