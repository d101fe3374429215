import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ImageCondition } from '../../stack-ports.ts';
import type { EngineApi } from './engine-api.ts';
import type { Finding } from './image-check.ts';
import { removeUnreadable, repairStorage } from './storage-repair.ts';

const { signal } = new AbortController();
const unreadable = { status: 500, body: { message: 'readlink: invalid argument' } };

type Image = { answer: { status: number; body: unknown }; conditions?: ImageCondition[]; isOffered?: boolean };

/** An engine with images by name. `pinned`: id of the pinned image; `users`: labels of the containers on any image. */
function createEngine(
  images: Record<string, Image>,
  { pinned = '', users = [] as Record<string, string>[], leases = 0 } = {},
) {
  const removed: string[] = [];
  const call: EngineApi['call'] = async (method, path, { query = {} } = {}) => {
    const name = decodeURIComponent(path.replace(/^\/images\/|\/json$/g, ''));
    if (path === '/containers/json') {
      const isPins = query['filters']?.includes('station.pin') === true;
      const found = isPins ? [{ 'station.pin': 'station' }] : users;
      return { status: 200, body: found.map((Labels) => ({ Id: 'c0', ImageID: pinned, Labels })) };
    }
    if (path === '/images/json') return { status: 200, body: [] };
    if (path === '/system/df') return { status: 200, body: { BuildCache: ['in use'] } };
    if (method === 'DELETE') removed.push(name);
    return method === 'DELETE' ? { status: 200, body: [] } : (images[name]?.answer ?? { status: 404, body: null });
  };
  const parts = {
    api: { call } as EngineApi,
    info: async () => ({ DockerRootDir: '/nowhere', Driver: 'overlay2', OSType: 'linux' }),
    project: 'station',
    check: async (imageId: string): Promise<Finding> => {
      const image = Object.values(images).find(({ answer }) => (answer.body as { Id?: string } | null)?.Id === imageId);
      const kind = image?.conditions?.shift() ?? 'whole';
      return kind === 'damaged' ? { kind, archiveBytes: null, layer: null, reason: 'cut off' } : { kind };
    },
    findOffered: async (reference: string) => (images[reference]?.isOffered === false ? [] : ['sha256:offered']),
    dropLeases: async () => leases,
    alive: () => undefined,
  };
  return { parts, removed };
}

const readable = (Id: string, more: object = {}) => ({ status: 200, body: { Id, ...more } });

test('of the images of a project those that cannot be read are removed, and no other', async () => {
  const { parts, removed } = createEngine({
    'good:1': { answer: readable('sha256:2') },
    'bad:1': { answer: unreadable },
  });
  assert.deepEqual(await removeUnreadable(parts.api, 'station', ['good:1', 'absent:1', 'bad:1']), ['bad:1']);
  assert.deepEqual(removed, ['bad:1']);
});

for (const [what, image, isRemoved] of [
  ['cannot be read', { answer: unreadable }, true],
  ['cannot be read and is not offered now', { answer: unreadable, isOffered: false }, false],
  ['is damaged in its content', { answer: readable('sha256:1'), conditions: ['damaged', 'damaged'] }, true],
  ['looks damaged once', { answer: readable('sha256:1'), conditions: ['damaged', 'whole'] }, false],
  ['cannot be verified for lack of space', { answer: readable('sha256:1'), conditions: ['unknown'] }, false],
  ['is pinned', { answer: readable('sha256:pinned'), conditions: ['damaged', 'damaged'] }, false],
  ['is whole', { answer: readable('sha256:1') }, false],
  ['is absent', { answer: { status: 404, body: null } }, false],
] as [string, Image, boolean][]) {
  test(`${isRemoved ? 'removes' : 'keeps'} an image of the project that ${what}`, async () => {
    const { parts, removed } = createEngine({ 'proxy:1': structuredClone(image) }, { pinned: 'sha256:pinned' });
    const repaired = await repairStorage(parts, { named: ['proxy:1'], fetched: [] }, signal);
    assert.deepEqual(repaired, { images: isRemoved ? ['proxy:1'] : [], layers: 0 });
    assert.equal(removed.length, isRemoved ? 1 : 0);
  });
}

test('keeps a pinned image that cannot be read', async () => {
  const { parts, removed } = createEngine({ 'sha256:offered': { answer: unreadable } }, { pinned: 'sha256:offered' });
  assert.deepEqual((await repairStorage(parts, { named: ['proxy:1'], fetched: [] }, signal)).images, []);
  assert.deepEqual(removed, []);
});

test('removes a damaged image that has lost its name, and checks no image twice', async () => {
  const lost = { 'sha256:offered': { answer: unreadable } };
  const { parts, removed } = createEngine(lost);
  assert.deepEqual((await repairStorage(parts, { named: ['proxy:1'], fetched: [] }, signal)).images, [
    'sha256:offered',
  ]);
  assert.deepEqual(removed, ['sha256:offered']);
  const image: Image = { answer: readable('sha256:offered'), conditions: ['whole', 'damaged', 'damaged'] };
  const once = createEngine({ 'proxy:1': image, 'sha256:offered': image });
  assert.deepEqual((await repairStorage(once.parts, { named: ['proxy:1'], fetched: [] }, signal)).images, []);
});

test('removes a damaged image of an earlier pull without asking a registry for it', async () => {
  const { parts } = createEngine({ 'sha256:1': { answer: unreadable, isOffered: false } });
  const repaired = await repairStorage(parts, { named: [], fetched: ['sha256:1'] }, signal);
  assert.deepEqual(repaired.images, ['sha256:1']);
});

test('keeps a damaged image that another project uses', async () => {
  const users = [{ 'com.docker.compose.project': 'neighbour' }];
  const { parts, removed } = createEngine({ 'proxy:1': { answer: unreadable } }, { users });
  assert.deepEqual((await repairStorage(parts, { named: ['proxy:1'], fetched: [] }, signal)).images, []);
  assert.deepEqual(removed, []);
});

test('what ended pulls hold in containerd counts as layers that were removed', async () => {
  const { parts } = createEngine({}, { leases: 2 });
  assert.deepEqual(await repairStorage(parts, { named: [], fetched: [] }, signal), { images: [], layers: 2 });
});
