import assert from 'node:assert/strict';
import { truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { readJournal, writeJournal } from '@station/agent/stack/journal';
import { nodeDisk } from '@station/kit/durable-files';
import type { ImageStore } from '../../rig/docker-engine.ts';
import { waitFor } from '../../rig/program.ts';
import { layersWith } from './image-lab.ts';
import { assertRests, createStory, type Story } from './story.ts';

/*
 * A good release whose images somebody else has pulled, and whose files a power cut has emptied: no service of it can start. The agent makes the images
 * again and installs it; it blames nothing on the release.
 */

/** Stops the engine and empties a file of the layer that backend and frontend share. */
async function emptyFile({ rig }: Story, store: ImageStore, path: string): Promise<void> {
  await rig.engine.stop();
  const folders = await layersWith(rig.engine.dataRoot, store, path);
  assert.equal(folders.length, 1, `one layer has ${path}`);
  for (const folder of folders) await truncate(join(folder, path), 0);
  await rig.engine.start();
}

/** What the agent knows was written in another boot. */
async function asInEarlierBoot(dataDir: string): Promise<void> {
  const reading = await readJournal(nodeDisk, dataDir);
  assert.ok(reading.kind === 'ok' && reading.journal.imagesFoundWhole);
  const { ids } = reading.journal.imagesFoundWhole;
  const bootId = 'an earlier boot';
  const seen = { upInBoot: bootId, imagesTrustedIn: bootId, imagesFoundWhole: { bootId, ids } };
  await writeJournal(nodeDisk, dataDir, { ...reading.journal, ...seen });
}

for (const [store, source] of [
  ['containerd', 'disk'],
  ['overlay2', 'registry'],
] as const) {
  test(`a first release with damaged images is installed, its images made again from the ${source} (${store})`, async () => {
    await using story = await createStory({ engine: { store }, installed: false, started: false });
    const { rig, agent } = story;
    const { manifest } = await rig.release({ version: '1.0.0', ballast: [200_000] });
    for (const image of Object.values(manifest.images)) await rig.engine.docker('pull', '--quiet', image);
    await emptyFile(story, store, 'bin/busybox');

    await agent.start();
    const { body } = await agent.call('POST', '/update');
    assert.equal(body['result'], 'updated', JSON.stringify(body));
    const named = agent.events.map(({ event }) => event);
    assert.ok(named.includes('images_damaged'));
    assert.ok(!named.includes('release_quarantined') && !named.includes('rollback_started'));
    const healed = agent.events.filter(({ event }) => event === 'image_healed');
    assert.deepEqual(
      healed.map((line) => line['from']),
      [source, source],
    );
    await agent.idle();
    await assertRests(story, '1.0.0');
  });

  test(`a stack whose images are damaged runs again by itself, without a network where that is possible (${store})`, async () => {
    await using story = await createStory({ engine: { store } });
    const { rig, agent } = story;
    await agent.kill();
    await asInEarlierBoot(agent.dataDir);
    if (store === 'containerd') await rig.registry.stop();
    await emptyFile(story, store, 'bin/busybox');
    assert.equal(await rig.stack.health(), null);

    await agent.start();
    await waitFor('the stack to serve', async () => (await rig.stack.health())?.statusCode === 200);
    await agent.idle();
    assert.ok(agent.events.some(({ event }) => event === 'image_healed'));
    await assertRests(story, '1.0.0');
    assert.deepEqual((await agent.status()).quarantined, []);
  });
}
