import assert from 'node:assert/strict';
import { appendFile, readdir, readFile, rm, truncate } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { test } from 'node:test';
import type { DockerEngine } from '../../rig/docker-engine.ts';
import { packLayer, pushImage } from '../../rig/image-push.ts';
import { waitFor } from '../../rig/program.ts';
import { pushSmallImage } from '../../rig/small-images.ts';
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
  // Somebody else gave it another name, which keeps its layers.
  await rig.engine.docker('tag', manifest.images.backend, 'somebody/else:1');
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

test('layers that a power cut damaged are removed, with an image of the stack that has one, and nothing else', async () => {
  await using story = await createStory({ installed: false, started: false });
  const { rig, agent } = story;
  const { engine, stack, registry } = rig;
  const { manifest } = await rig.release({ version: '1.0.0', ballast: [500_000] });
  const sidecar = { repository: 'station/sidecar', version: '1', behaviour: 'good', ballast: [] } as const;
  await pushSmallImage(registry, sidecar);
  const image = `${registry.address}/station/sidecar:1`;
  await appendFile(stack.composeFile, `  sidecar:\n    image: ${image}\n    restart: unless-stopped\n`);
  await pushImage(
    registry,
    { repository: 'somebody/else', tag: '1' },
    { layers: [await packLayer([{ path: 'theirs', content: 'theirs' }])], config: { Cmd: ['/theirs'] } },
  );
  for (const each of [manifest.images.backend, image, `${registry.address}/somebody/else:1`]) {
    await engine.docker('pull', '--quiet', each);
  }
  await engine.docker('create', '--name', 'theirs', '--network', 'none', `${registry.address}/somebody/else:1`);
  await engine.docker('volume', 'create', 'theirs');
  const [base, ballast, top] = await layersOf(engine, manifest.images.backend);
  assert.ok(base && ballast && top);
  // The sidecar and the backend share the lowest layer, and the sidecar can still be inspected and exported.
  await engine.stop();
  const overlay = join(engine.dataRoot, 'overlay2');
  await truncate(join(overlay, base, 'link'), 0);
  // A pull of the backend that the cut ended: the engine has its layers but not the image.
  for (const file of ['link', 'lower']) await truncate(join(overlay, ballast, file), 0);
  await forgetImage(engine, manifest.images.backend);
  await engine.start();
  const pull = await engine.tryDocker(['pull', manifest.images.backend]);
  assert.match(pull.stderr, /failed to register layer/);

  await agent.start();
  const answer = await agent.call('POST', '/update');
  assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
  const [repaired] = agent.events.filter((line) => line.event === 'engine_storage_repaired');
  // The frontend was stored on the damaged layer.
  assert.deepEqual(repaired?.['images'], [manifest.images.frontend, image]);
  assert.equal(repaired['layers'], 3);
  assert.ok(!agent.events.some((line) => line['code'] === 'registry_unavailable'));
  assert.equal((await waitFor('an answer', () => stack.health())).version, '1.0.0');
  const running = await engine.docker('ps', '--format', '{{.Image}}', '--filter', 'status=running');
  assert.ok(running.includes(image), 'the sidecar was fetched again');
  // What others have is untouched.
  assert.match(await engine.docker('ps', '--all', '--filter', 'name=theirs'), /somebody\/else:1/);
  assert.match(await engine.docker('volume', 'ls'), /theirs/);
});

/** Folders of an image's layers below `overlay2`, from the base up. */
async function layersOf(engine: DockerEngine, image: string): Promise<string[]> {
  const { UpperDir, LowerDir } = JSON.parse(
    await engine.docker('inspect', '--format', '{{json .GraphDriver.Data}}', image),
  ) as { UpperDir: string; LowerDir: string };
  return [UpperDir, ...LowerDir.split(':')].map((folder) => basename(dirname(folder))).reverse();
}

/** Removes the record of an image and of what its top layer was made from, while the engine is stopped; its layers stay. */
async function forgetImage(engine: DockerEngine, image: string): Promise<void> {
  const root = join(engine.dataRoot, 'image/overlay2');
  const repositories = join(root, 'repositories.json');
  const known = JSON.parse(await readFile(repositories, 'utf8')) as { Repositories: Record<string, object> };
  const ids = Object.entries(known.Repositories).flatMap(([name, tags]) =>
    image.startsWith(`${name}:`) ? Object.values(tags).map(String) : [],
  );
  const id = ids[0]?.slice('sha256:'.length);
  assert.ok(id);
  const content = join(root, 'imagedb/content/sha256', id);
  const { rootfs } = JSON.parse(await readFile(content, 'utf8')) as { rootfs: { diff_ids: string[] } };
  await rm(content);
  const folder = join(root, 'distribution/diffid-by-digest/sha256');
  for (const digest of await readdir(folder)) {
    const diffId = await readFile(join(folder, digest), 'utf8');
    if (diffId === rootfs.diff_ids.at(-1)) await rm(join(folder, digest));
  }
}
