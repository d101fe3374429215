import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, describe, test } from 'node:test';
import { nodeDisk, type Disk } from '@station/kit/durable-files';
import type { Release } from '@station/protocol/release';
import { adoptStack, imageName, type Adoption } from './adopt.ts';
import type { ContainerFact, StackEngine } from './stack-ports.ts';
import { overrideFile, stateFiles } from './state-files.ts';

const id = (digit: string): string => `sha256:${digit.repeat(64)}`;
const container = (service: string, digit: string, changes: Partial<ContainerFact> = {}): ContainerFact => ({
  id: `${service}-${digit}`,
  service,
  image: `registry.test/${service}:1.1.0`,
  imageId: id(digit),
  state: 'running',
  health: 'none',
  restartCount: 0,
  exitCode: 0,
  ...changes,
});
const running = [container('backend', 'b'), container('frontend', 'b'), container('mqtt', 'e')];
const earlier = {
  version: '1.0.0',
  images: { backend: 'registry.test/backend:1.0.0', frontend: 'registry.test/frontend:1.0.0' },
};
const here = new Map([
  ['registry.test/backend:1.0.0', id('a')],
  ['registry.test/frontend:1.0.0', id('a')],
  [id('a'), id('a')],
  [id('b'), id('b')],
]);

describe('adopting a stack', () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'adopt-'));
  });
  beforeEach(async () => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder);
  });
  after(() => rm(folder, { recursive: true, force: true }));

  const worn: Disk = {
    ...nodeDisk,
    read: async () => {
      throw Object.assign(new Error('EIO'), { code: 'EIO' });
    },
  };

  type Found = {
    disk?: Disk;
    containers?: ContainerFact[];
    files?: Record<string, string | Uint8Array>;
    images?: Map<string, string>;
  };

  async function adopt({ disk = nodeDisk, containers = running, files = {}, images = here }: Found): Promise<Adoption> {
    for (const [name, content] of Object.entries(files)) await writeFile(join(folder, name), content);
    // Adoption asks these two questions only; any other call fails the test.
    const engine: Pick<StackEngine, 'containers' | 'imageId'> = {
      containers: async () => containers,
      imageId: async (reference) => images.get(reference) ?? null,
    };
    return adoptStack({
      engine: engine as StackEngine,
      disk,
      dataDir: folder,
      now: '2026-06-01T03:00:00.000Z',
      bootId: 'boot-1',
    });
  }
  const version = (text: string): Record<string, string> => ({ [stateFiles.currentVersion]: text });
  const rollback = (content: object): Record<string, string> => ({ [stateFiles.rollback]: JSON.stringify(content) });
  const pinned = (release: Release): Record<string, string> => ({ [stateFiles.updateOverride]: overrideFile(release) });

  test('takes what runs for what is installed, by the services that make up a release', async () => {
    const { journal, repaired } = await adopt({});
    assert.deepEqual(journal.installed, {
      version: '1.1.0',
      images: { backend: 'registry.test/backend:1.1.0', frontend: 'registry.test/frontend:1.1.0' },
      imageIds: { backend: id('b'), frontend: id('b') },
      digests: {},
      layers: {},
    });
    assert.deepEqual([journal.upInBoot, journal.kept, repaired], ['boot-1', [], []]);
  });

  test('writes down by its id what a container names without a tag: rollback.json must be readable later', async () => {
    const { journal } = await adopt({ containers: [container('backend', 'b', { image: 'backend' })] });
    assert.deepEqual(journal.installed?.images, { backend: id('b') });
    const left = {
      version: '1.0.0',
      images: { mqtt: imageName(container('mqtt', 'a', { image: 'eclipse-mosquitto' })) },
    };
    const { repaired } = await adopt({ files: { [stateFiles.rollback]: JSON.stringify(left) } });
    assert.deepEqual(repaired, []);
  });

  test('takes in a further service that was pinned', async () => {
    const imageIds = { backend: id('b'), mqtt: id('e') };
    const files = pinned({ version: '1.1.0', images: {}, imageIds, digests: {}, layers: {} });
    const { journal } = await adopt({ files: { ...version('1.1.0'), ...files } });
    assert.deepEqual(journal.installed?.imageIds, { backend: id('b'), frontend: id('b'), mqtt: id('e') });
  });

  test('finds nothing where nothing runs', async () => {
    const { journal } = await adopt({ containers: [container('mqtt', 'e')] });
    assert.deepEqual([journal.installed, journal.kept], [null, []]);
  });

  test('has no version when neither a file nor the tag has it', async () => {
    const containers = [
      container('backend', 'b', { image: 'registry.test/backend:latest' }),
      container('frontend', 'b'),
    ];
    assert.equal((await adopt({ containers })).journal.installed?.version, null);
    const byId = [container('backend', 'b', { image: id('b') })];
    assert.equal((await adopt({ containers: byId })).journal.installed?.version, null);
  });

  test('believes the recorded version more than the tag', async () => {
    const { journal, repaired } = await adopt({ files: version('v1.2.3\n') });
    assert.deepEqual([journal.installed?.version, repaired], ['1.2.3', []]);
  });

  test('logs a recorded version that is none', async () => {
    for (const text of ['', 'latest', '1.2.3; rm -rf /', '\u0000']) {
      const { journal, repaired } = await adopt({ files: version(text) });
      assert.equal(journal.installed?.version, '1.1.0');
      assert.deepEqual(repaired, [{ file: stateFiles.currentVersion, reason: 'not a version' }]);
    }
  });

  test('keeps the release that rollback.json names, by reference or by id', async () => {
    const byReference = await adopt({ files: { ...version('1.1.0'), ...rollback(earlier) } });
    const imageIds = { backend: id('a'), frontend: id('a') };
    assert.deepEqual(byReference.journal.kept, [
      { release: { ...earlier, imageIds, digests: {}, layers: {} }, at: '2026-06-01T03:00:00.000Z' },
    ]);
    const byId = await adopt({ files: { ...version('1.1.0'), ...rollback({ ...earlier, imageIds }) } });
    assert.deepEqual(byId.journal.kept, byReference.journal.kept);
  });

  test('keeps none whose images were removed, which is no damage', async () => {
    const { journal, repaired } = await adopt({ files: rollback(earlier), images: new Map() });
    assert.deepEqual([journal.kept, repaired], [[], []]);
  });

  const damages: readonly [string, string | Uint8Array][] = [
    ['empty', ''],
    ['truncated', JSON.stringify(earlier).slice(0, 20)],
    ['of another shape', '{"images":["backend"]}'],
    ['no text', Uint8Array.of(0xff, 0xfe)],
    ['naming an image that is none', JSON.stringify({ ...earlier, images: { backend: '--privileged' } })],
  ];
  for (const [name, content] of damages) {
    test(`continues without a rollback.json that is ${name}, and logs it`, async () => {
      const { journal, repaired } = await adopt({ files: { [stateFiles.rollback]: content } });
      assert.deepEqual(journal.kept, []);
      assert.deepEqual(repaired, [{ file: stateFiles.rollback, reason: 'not readable' }]);
    });
  }

  test('goes by what runs when the disk gives out no file', async () => {
    const { journal, repaired } = await adopt({ disk: worn, files: version('1.2.3') });
    assert.equal(journal.installed?.version, '1.1.0');
    assert.deepEqual(repaired, [{ file: stateFiles.rollback, reason: 'not readable' }]);
  });

  test('a rollback.json without images names nothing', async () => {
    assert.deepEqual((await adopt({ files: rollback({ version: '1.0.0', images: {} }) })).journal.kept, []);
  });

  test('leaves it to BOOTSTRAP_ON_START whether a stack that is not wholly up is brought up', async () => {
    const partly: ContainerFact[][] = [
      [container('backend', 'b'), container('frontend', 'b', { state: 'exited', exitCode: 137 })],
      [container('backend', 'b', { state: 'created' }), container('frontend', 'b')],
    ];
    for (const containers of partly) assert.equal((await adopt({ containers })).journal.upInBoot, 'none');
  });

  describe('whose journal was lost in the middle of an operation', () => {
    const imageIds = { backend: id('a'), frontend: id('a') };
    const leaving = { ...version('1.0.0'), ...rollback({ ...earlier, imageIds }) };
    const next: Release = {
      version: '1.1.0',
      images: {},
      imageIds: { backend: id('b'), frontend: id('b') },
      digests: {},
      layers: {},
    };

    test('rolls back to the release that was being replaced', async () => {
      const { journal } = await adopt({ files: { ...leaving, ...pinned(next) } });
      assert.deepEqual([journal.installed?.version, journal.installed?.imageIds], ['1.0.0', imageIds]);
      assert.deepEqual([journal.upInBoot, journal.kept], [null, []]);
    });

    test('finds it up when the new release had not been started yet', async () => {
      const containers = [container('backend', 'a'), container('frontend', 'a')];
      assert.equal((await adopt({ files: leaving, containers })).journal.upInBoot, 'boot-1');
    });

    test('takes a half-done first install for none', async () => {
      const { journal } = await adopt({ files: pinned(next), containers: [container('backend', 'b')] });
      assert.equal(journal.installed, null);
    });
  });
});
