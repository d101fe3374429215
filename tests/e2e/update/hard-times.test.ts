import assert from 'node:assert/strict';
import { readdir, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { waitFor } from '../../rig/program.ts';
import { assertRests, createStory } from './story.ts';

test('detects a disk that is too small before anything is fetched', async () => {
  await using story = await createStory({ engine: { dataDiskMegabytes: 160 } });
  const { rig, agent } = story;
  await rig.release({ version: '1.1.0', ballast: [40_000_000, 30_000_000] });
  const answer = await agent.call('POST', '/update');
  assert.deepEqual([answer.status, answer.body['code']], [507, 'disk_space_low']);
  assert.ok(!agent.events.some((line) => line.event === 'docker_pull'), 'nothing was fetched');
  assert.ok((await agent.status()).conditions.some(({ id }) => id === 'disk_space_low'));
  await assertRests(story, '1.0.0');
  await rig.release({ version: '1.1.1', ballast: [1_000_000] });
  assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
  assert.ok(!(await agent.status()).conditions.some(({ id }) => id === 'disk_space_low'));
  await assertRests(story, '1.1.1');
});

test('the agent is stopped and started again in every phase of an update', async (t) => {
  await using story = await createStory();
  const { rig, agent } = story;
  const installed = ['1.0.0'];
  const phases = ['preparing', 'pulling', 'switching', 'verifying', 'reverting', 'verifying_revert'];
  for (const [index, phase] of phases.entries()) {
    for (const end of ['stop', 'kill'] as const) {
      const reverts = phase === 'reverting' || phase === 'verifying_revert';
      await t.test(`${end} while ${phase.replace('_', ' ')}`, async () => {
        const version = `1.${index + 1}.${end === 'stop' ? 0 : 1}`;
        await rig.release({ version, behaviour: reverts ? 'crash-loop' : 'good', ballast: [2_000_000] });
        const before = agent.events.length;
        await agent.call('POST', '/update?wait=false');
        await waitFor(phase, () =>
          agent.events.slice(before).some((line) => line.event === 'update_phase' && line['phase'] === phase),
        );
        if (end === 'stop') assert.equal(await agent.stop(), 0);
        else await agent.kill();
        await agent.start();
        await agent.idle();
        if (!reverts) installed.push(version);
        await assertRests(story, installed.at(-1) as string);
      });
    }
  }
});

test('the engine is restarted in the middle of an update', async () => {
  await using story = await createStory();
  const { rig, agent } = story;
  await rig.release({ version: '1.1.0', ballast: [3_000_000] });
  const before = agent.events.length;
  await agent.call('POST', '/update?wait=false');
  await waitFor('the switch', () => agent.events.slice(before).some((line) => line.event === 'docker_restart'));
  await rig.engine.stop();
  await agent.event('condition_raised', { after: before });
  await rig.engine.start();
  await agent.event('update_completed', { after: before });
  await agent.idle();
  await assertRests(story, '1.1.0');
  assert.ok(!(await agent.status()).conditions.some(({ id }) => id === 'engine_unreachable'));
});

test('an image that a power cut damaged is detected and pulled again', async () => {
  await using story = await createStory();
  const { rig, agent } = story;
  const { manifest } = await rig.release({ version: '1.1.0', ballast: [1_000_000] });
  // As after a real power cut: the image exists, but the files that link its layers are empty.
  await rig.engine.docker('pull', '--quiet', manifest.images.backend);
  const layers = join(rig.engine.dataRoot, 'overlay2');
  const inUse = await rig.engine.docker(
    'inspect',
    '--format',
    '{{.GraphDriver.Data.UpperDir}}',
    manifest.images.backend,
  );
  await rig.engine.stop();
  assert.ok((await readdir(layers)).length > 0);
  await truncate(join(inUse, '..', 'lower'), 0);
  await rig.engine.start();
  await agent.idle();
  const answer = await agent.call('POST', '/update');
  assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
  assert.ok(agent.events.some((line) => line.event === 'image_healed'));
  await assertRests(story, '1.1.0');
});
