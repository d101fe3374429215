import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCommand } from '@station/kit/command';
import type { EngineApi } from './engine-api.ts';
import { findChains, removeLooseLayers } from './loose-layers.ts';

const id = (digit: string): string => `sha256:${digit.repeat(64)}`;
/** A layer whose content is `c` and whose id is `1`, on the layer with id `0`. */
const layer = (chain: string, diff: string, parent: string | null) => ({
  chainId: id(chain),
  diffId: id(diff),
  parent: parent === null ? null : id(parent),
});

for (const [what, layers, expected] of [
  ['no layer', [], []],
  ['one layer', [layer('0', 'a', null)], ['a']],
  [
    'two images on one layer',
    [layer('2', 'c', '0'), layer('0', 'a', null), layer('1', 'b', '0'), layer('3', 'd', '1')],
    ['ac', 'abd'],
  ],
  ['a layer whose parent the engine does not know', [layer('1', 'b', '0')], []],
] as const) {
  test(`finds the chains of ${what}`, () => {
    assert.deepEqual(
      findChains(layers),
      expected.map((chain) => [...chain].map(id)),
    );
  });
}

/** A layer database with these layers, in a folder that is removed at the end of the test. */
async function createDatabase(layers: ReturnType<typeof layer>[]) {
  const root = await mkdtemp(join(tmpdir(), 'station-layers-'));
  const folder = join(root, 'image/overlay2/layerdb/sha256');
  await mkdir(folder, { recursive: true });
  for (const { chainId, diffId, parent } of layers) {
    const own = join(folder, chainId.slice('sha256:'.length));
    await mkdir(own);
    await writeFile(join(own, 'diff'), diffId);
    if (parent !== null) await writeFile(join(own, 'parent'), parent);
  }
  return { root, folder, [Symbol.asyncDispose]: () => rm(root, { recursive: true }) };
}

/** An engine that removes the top layer of each image, and counts what it is asked. */
function createEngine(buildCache: unknown) {
  const archives: Buffer[] = [];
  const removed: string[] = [];
  const call: EngineApi['call'] = async (method, path, { archive } = {}) => {
    if (path === '/system/df') return { status: 200, body: { BuildCache: buildCache } };
    if (path === '/images/load' && archive instanceof Uint8Array) {
      archives.push(Buffer.from(archive));
      return { status: 200, body: null };
    }
    assert.equal(method, 'DELETE');
    const image = decodeURIComponent(path.slice('/images/'.length));
    removed.push(image);
    return { status: 200, body: [{ Untagged: 'x' }, { Deleted: image }, { Deleted: id('9') }] };
  };
  return { api: { call } as EngineApi, archives, removed };
}

const infoOf = (root: string, Driver?: string) => async () => ({
  DockerRootDir: root,
  OSType: 'linux',
  ...(Driver === undefined ? {} : { Driver }),
});

test('makes each chain an image and removes it; the engine says what went with it', async () => {
  await using database = await createDatabase([layer('0', 'a', null), layer('1', 'b', '0'), layer('2', 'c', '0')]);
  // As after a power cut: no layer for the engine, since it has no content.
  await mkdir(join(database.folder, '7'.repeat(64)));
  // Removed by the engine at its next start.
  await mkdir(join(database.folder, `${'8'.repeat(64)}-removing`));
  const { api, archives, removed } = createEngine(null);
  assert.equal(await removeLooseLayers(api, infoOf(database.root, 'overlay2')), 2);
  assert.equal(removed.length, 2);
  const chains: string[] = [];
  for (const [index, archive] of archives.entries()) {
    chains.push(await readArchive(database.root, archive, removed[index]));
  }
  assert.deepEqual(chains.sort(), [`${id('a')} ${id('b')}`, `${id('a')} ${id('c')}`]);
});

test('removes nothing while there is a build cache, or while the engine does not report it', async () => {
  await using database = await createDatabase([layer('0', 'a', null)]);
  for (const cache of [[{ ID: 'x' }], 'unreadable']) {
    const { api, archives } = createEngine(cache);
    assert.equal(await removeLooseLayers(api, infoOf(database.root, 'overlay2')), 0);
    assert.equal(archives.length, 0);
  }
});

test("removes nothing from containerd's image store, which has no layer database", async () => {
  await using database = await createDatabase([layer('0', 'a', null)]);
  for (const driver of ['overlayfs', undefined]) {
    const { api, archives } = createEngine(null);
    assert.equal(await removeLooseLayers(api, infoOf(database.root, driver)), 0);
    assert.equal(archives.length, 0);
  }
});

/** The layers that an archive names, read with tar. Its configuration must have the image's id as digest. */
async function readArchive(root: string, archive: Buffer, imageId: string | undefined): Promise<string> {
  const file = join(root, 'archive.tar');
  await writeFile(file, archive);
  const read = async (...args: string[]) => (await runCommand('tar', args, { env: { PATH: '/usr/bin:/bin' } })).stdout;
  const [manifest] = JSON.parse(await read('-xOf', file, 'manifest.json')) as { Config: string; Layers: string[] }[];
  assert.ok(manifest);
  const folder = await mkdtemp(join(root, 'content-'));
  await read('-xf', file, '-C', folder);
  const digest = await runCommand('sha256sum', [join(folder, manifest.Config)], { env: { PATH: '/usr/bin:/bin' } });
  assert.equal(`sha256:${digest.stdout.slice(0, 64)}`, imageId);
  const config = JSON.parse(await read('-xOf', file, manifest.Config)) as { rootfs: { diff_ids: string[] } };
  assert.equal(manifest.Layers.length, config.rootfs.diff_ids.length);
  await rm(folder, { recursive: true });
  return config.rootfs.diff_ids.join(' ');
}
