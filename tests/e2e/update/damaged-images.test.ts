import assert from 'node:assert/strict';
import { chmod, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import type { ImageStore } from '../../rig/docker-engine.ts';
import { extent } from '../../rig/extent.ts';
import { blobOf, createImageLab, type ImageLab, layersWith, randomFiles } from './image-lab.ts';

/*
 * Damage planted in the files of a stopped engine, with the registry off: all of it is found, and what the engine can make again from its own
 * layers is whole afterwards. What is true is read from the files of a container, never from the agent's answer.
 */

const { signal } = new AbortController();

const base = [...randomFiles('node', 2, 500_000), ...randomFiles('lib', 20, 10_000)];
const contents = {
  backend: [base, randomFiles('app', 10, 20_000)],
  frontend: [base, randomFiles('www', 10, 20_000)],
};

type Change = (dataRoot: string, lab: ImageLab) => Promise<void>;
/** `damaged`: images that are; `isHealed`: whether the engine has good layers of all of them; `isShort`: tried in every run. */
type Plant = { name: string; change: Change; damaged: readonly string[]; isHealed: boolean; isShort?: true };

const inLayer =
  (store: ImageStore, path: string, change: (file: string, folder: string) => Promise<void>): Change =>
  async (dataRoot) => {
    const folders = await layersWith(dataRoot, store, path);
    assert.equal(folders.length, 1, `one layer has ${path}`);
    for (const folder of folders) await change(join(folder, path), folder);
  };

async function flipByte(file: string): Promise<void> {
  const bytes = await readFile(file);
  bytes[100] = (bytes[100] ?? 0) ^ 1;
  await writeFile(file, bytes);
}

async function removeContent(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true });
}

const inBlob =
  (image: string, layer: number, change: (file: string) => Promise<void>): Change =>
  async (dataRoot, { images }) => {
    const file = blobOf(dataRoot, images[image]?.layers[layer]?.digest ?? '');
    await chmod(file, 0o644);
    await change(file);
  };

const both = ['backend', 'frontend'];

const unpacked = (store: ImageStore, isHealed: boolean): Plant[] => [
  { name: 'nothing', change: async () => undefined, damaged: [], isHealed: true, isShort: true },
  {
    name: 'an empty file in a layer of its own',
    change: inLayer(store, 'app/3', (file) => truncate(file, 0)),
    damaged: ['backend'],
    isHealed,
    isShort: true,
  },
  {
    name: 'an empty file in the shared base',
    change: inLayer(store, 'node/1', (file) => truncate(file, 0)),
    damaged: both,
    isHealed,
  },
  {
    name: 'half a file in the shared base',
    change: inLayer(store, 'node/1', (file) => truncate(file, 250_000)),
    damaged: both,
    isHealed,
  },
  {
    name: 'a flipped bit in a layer of its own',
    change: inLayer(store, 'www/7', flipByte),
    damaged: ['frontend'],
    isHealed,
  },
  {
    name: 'a flipped bit in the shared base',
    change: inLayer(store, 'lib/7', flipByte),
    damaged: both,
    isHealed,
    isShort: true,
  },
  {
    name: 'a missing file',
    change: inLayer(store, 'app/0', (file) => rm(file)),
    damaged: ['backend'],
    isHealed,
    isShort: true,
  },
  {
    name: 'an emptied layer',
    change: inLayer(store, 'app/3', (_, folder) => removeContent(folder)),
    damaged: ['backend'],
    isHealed,
  },
  {
    name: 'a layer whose folder is gone',
    change: inLayer(store, 'www/3', (_, folder) => rm(dirname(folder), { recursive: true })),
    damaged: ['frontend'],
    isHealed,
    isShort: true,
  },
  {
    name: 'a shared base whose folder is gone',
    change: inLayer(store, 'lib/3', (_, folder) => rm(dirname(folder), { recursive: true })),
    damaged: both,
    isHealed,
  },
];

const plants: Readonly<Record<ImageStore, readonly Plant[]>> = {
  // The graph driver keeps no second copy of a layer.
  overlay2: unpacked('overlay2', false),
  containerd: [
    ...unpacked('containerd', true),
    {
      name: 'a layer that is zeros',
      change: inBlob('backend', 1, zeroFill),
      damaged: ['backend'],
      isHealed: false,
      isShort: true,
    },
    {
      name: 'an empty layer of the shared base',
      change: inBlob('backend', 0, (file) => truncate(file, 0)),
      damaged: both,
      isHealed: false,
    },
    {
      name: 'an empty file, and a container that the engine has lost',
      change: async (dataRoot, lab) => {
        await removeContent(join(dataRoot, 'containers'));
        await inLayer('containerd', 'www/1', (file) => truncate(file, 0))(dataRoot, lab);
      },
      damaged: ['frontend'],
      isHealed: true,
      isShort: true,
    },
    {
      name: 'an empty layer and an empty file of it',
      change: async (dataRoot, lab) => {
        await inBlob('frontend', 1, (file) => truncate(file, 0))(dataRoot, lab);
        await inLayer('containerd', 'www/1', (file) => truncate(file, 0))(dataRoot, lab);
      },
      damaged: ['frontend'],
      isHealed: false,
    },
  ],
};

async function zeroFill(file: string): Promise<void> {
  const { length } = await readFile(file);
  await writeFile(file, Buffer.alloc(length));
}

for (const store of ['containerd', 'overlay2'] as const) {
  describe(`damage in the files of ${store}, without a network`, async () => {
    const lab = await createImageLab({ store, contents });
    const { adapter, engine, images } = lab;
    const ids: Record<string, string> = {};
    for (const [name, { reference }] of Object.entries(images)) {
      await engine.docker('pull', '--quiet', reference);
      ids[name] = await engine.docker('image', 'inspect', '--format', '{{.Id}}', reference);
      assert.equal(await adapter.pinImage(ids[name]), 'pinned');
    }
    const whole = await lab.stopAndCopyDisk();
    await lab.registry.stop();
    const references = Object.fromEntries(Object.entries(ids).map(([name, id]) => [id, images[name]?.reference ?? id]));
    const nameOf = (id: string): string => both.find((name) => ids[name] === id) ?? id;

    const all = plants[store];
    for (const plant of extent(
      all.filter(({ isShort }) => isShort),
      all,
    )) {
      test(plant.name, async () => {
        await lab.boot(whole, (dataRoot) => plant.change(dataRoot, lab));
        const found = await adapter.checkImages(Object.values(ids), { isIdle: false, signal });
        const damaged = [...found].flatMap(([id, condition]) => (condition === 'damaged' ? [id] : []));
        assert.deepEqual(damaged.map(nameOf), plant.damaged);
        if (damaged.length === 0) return;
        const { rebuilding, refused } = await adapter.planRebuild(damaged, references, signal);
        if (!plant.isHealed) {
          assert.equal(rebuilding, null);
          const named = refused.flatMap(({ reason, imageIds }) => imageIds.map((id) => [nameOf(id), reason]));
          assert.deepEqual(
            named.sort(),
            plant.damaged.map((name) => [name, 'needs_registry']),
          );
          const left = await engine.docker('images', '--quiet', '--no-trunc');
          assert.deepEqual(left.split('\n').sort(), Object.values(ids).sort(), 'nothing was removed');
          return;
        }
        assert.deepEqual(refused, []);
        assert.ok(rebuilding);
        assert.deepEqual(await adapter.rebuildImages(rebuilding, signal), { kind: 'rebuilt' });
        for (const [name, id] of Object.entries(ids)) {
          assert.equal(await lab.damageOf(name), null);
          assert.equal(await adapter.imageId(images[name]?.reference ?? ''), id, 'its name and its id stay');
        }
      });
    }
    test('an empty file in a base that a container of somebody else uses', async () => {
      await lab.boot(whole);
      const { reference } = images['frontend'] ?? { reference: '' };
      await engine.docker('tag', reference, 'somebody/else:1');
      await engine.docker('create', '--name', 'theirs', '--network', 'none', 'somebody/else:1', 'x');
      const used = await lab.stopAndCopyDisk();
      await lab.boot(used, (dataRoot) => inLayer(store, 'node/1', (file) => truncate(file, 0))(dataRoot, lab));
      const { rebuilding, refused } = await adapter.planRebuild(Object.values(ids), references, signal);
      assert.equal(rebuilding, null);
      assert.deepEqual(
        refused.map(({ reason, imageIds }) => [reason, imageIds.length]),
        [['in_use', 2]],
      );
      assert.match(await engine.docker('ps', '--all'), /theirs/);
    });

    if (store === 'overlay2') {
      test('a rebuild that a power cut ended after the images were removed: their damaged layers are still there', async () => {
        await lab.boot(whole);
        await engine.docker('rm', ...(await engine.docker('ps', '--all', '--quiet')).split('\n'));
        const unused = await lab.stopAndCopyDisk();
        await lab.boot(unused, async (dataRoot) => {
          await inLayer(store, 'node/1', (file) => truncate(file, 0))(dataRoot, lab);
          const folder = join(dataRoot, 'image/overlay2');
          await rm(join(folder, 'repositories.json'));
          await removeContent(join(folder, 'imagedb/content/sha256'));
        });
        assert.equal(await engine.docker('images', '--all', '--quiet'), '');
        await lab.registry.start();
        assert.deepEqual(await adapter.rebuildImages({ saved: [], references }, signal), { kind: 'rebuilt' });
        for (const name of Object.keys(ids)) assert.equal(await lab.damageOf(name), null);
      });
    }

    test('the last one is closed', async () => lab[Symbol.asyncDispose]());
  });
}
