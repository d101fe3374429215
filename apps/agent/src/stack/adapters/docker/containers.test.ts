import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listContainers, pinImage, restartContainers, setRunning, unpinImage } from './containers.ts';
import type { EngineApi } from './engine-api.ts';

// Answers that an engine gives only in trouble; the rest is shown on a real one (e2e update).
const mebibyte = 1024 * 1024;
const pinWith = (status: number, freeBytes: number | null) =>
  pinImage({ call: async () => ({ status, body: { message: 'said' } }) }, 'station', 'sha256:1', async () => freeBytes);

test('an image of which no container can be made is broken, unless the disk is full', async () => {
  assert.equal(await pinWith(500, 100 * mebibyte), 'broken');
  assert.equal(await pinWith(500, null), 'broken');
  assert.equal(await pinWith(500, mebibyte), 'unknown');
});

test('an image is pinned on a full disk too, if the engine accepts it', async () => {
  for (const status of [201, 409]) assert.equal(await pinWith(status, 0), 'pinned');
  assert.equal(await pinWith(404, 0), 'absent');
});

test('a pin belongs to no stack, whatever stack its image was built in', async () => {
  const built = { 'com.docker.compose.project': 'station', 'com.docker.compose.service': 'backend' };
  const removed: string[] = [];
  let labels: object = {};
  const call: EngineApi['call'] = async (method, path, { body } = {}) => {
    // The engine's own rule: a container has the labels of its image, and those that it was given.
    if (method === 'POST') labels = { ...built, ...(body as { Labels: object }).Labels };
    if (method === 'DELETE') removed.push(path);
    if (method === 'GET') return { status: 200, body: [{ Id: 'ours', ImageID: 'sha256:1', Labels: labels }] };
    return { status: 201, body: null };
  };
  await pinImage({ call }, 'station', 'sha256:1', async () => null);
  assert.notEqual((labels as Record<string, string>)['com.docker.compose.project'], 'station');
  await unpinImage({ call }, 'station', 'sha256:1');
  assert.deepEqual(removed, ['/containers/ours']);
});

test('unpinning an image takes the volumes that were made for its pin, and nothing of the stack', async () => {
  const listed = [
    { Id: 'ours', ImageID: 'sha256:1', Labels: { 'station.pin': 'station' } },
    { Id: 'of-another-image', ImageID: 'sha256:2', Labels: { 'station.pin': 'station' } },
    // A label that its image brings along.
    {
      Id: 'of-the-stack',
      ImageID: 'sha256:1',
      Labels: { 'station.pin': 'station', 'com.docker.compose.project': 'station' },
    },
  ];
  const removed: unknown[] = [];
  const call: EngineApi['call'] = async (method, path, { query } = {}) => {
    if (method === 'DELETE') removed.push([path, query]);
    return method === 'GET' ? { status: 200, body: listed } : { status: 204, body: null };
  };
  await unpinImage({ call }, 'station', 'sha256:1');
  assert.deepEqual(removed, [['/containers/ours', { force: 'true', v: 'true' }]]);
});

test('a container without labels stands for a service by its name, and only where labels name none', async () => {
  const names = { backend: 'my.backend', frontend: 'my-frontend' };
  const compose = (project: string, service: string) => ({
    'com.docker.compose.project': project,
    'com.docker.compose.service': service,
  });
  // As the engine of Docker 28 answers GET /containers/json and GET /containers/{id}/json, the fields that are read.
  const all = [
    { Id: 'b1', ImageID: 'sha256:b', Names: ['/my.backend'], Labels: {} },
    { Id: 'f1', ImageID: 'sha256:f', Names: ['/station-frontend-1'], Labels: compose('station', 'frontend') },
    { Id: 'f2', ImageID: 'sha256:f', Names: ['/my-frontend'], Labels: {} },
  ];
  const listing = (containers: typeof all) => {
    const asked: string[] = [];
    const call: EngineApi['call'] = async (_method, path, { query } = {}) => {
      const state = { Status: 'running', ExitCode: 0 };
      if (path !== '/containers/json')
        return {
          status: 200,
          body: { Id: '1', Image: 'sha256:b', RestartCount: 0, Config: { Image: 'a:1' }, State: state },
        };
      asked.push(query?.['filters'] ?? '');
      const filters = JSON.parse(query?.['filters'] ?? '') as { label?: string[]; name?: string[] };
      const isWanted = ({ Names, Labels }: (typeof all)[number]): boolean =>
        filters.name
          ? filters.name.some((pattern) => Names.some((name) => new RegExp(pattern).test(name)))
          : 'com.docker.compose.project' in Labels && Labels['com.docker.compose.project'] === 'station';
      return { status: 200, body: containers.filter(isWanted) };
    };
    const found = async () =>
      (await listContainers({ call }, 'station', names)).map(({ id, service }) => [service, id]);
    return { asked, found };
  };
  assert.deepEqual(await listing(all).found(), [
    ['frontend', 'f1'],
    ['backend', 'b1'],
  ]);
  // Its labels say that it is a service of another project.
  const other = { ...all[0], Labels: compose('other', 'backend') } as (typeof all)[number];
  assert.deepEqual(await listing([other]).found(), []);
  const composed = [all[1], { ...all[0], Labels: compose('station', 'backend') }] as typeof all;
  const { asked, found } = listing(composed);
  assert.equal((await found()).length, 2);
  assert.equal(asked.length, 1, 'names are not requested when the labels name every service');
});

test('a service is started and restarted without the one-off containers of `docker compose run`, and whatever one of its containers answers', async () => {
  const labels = (more: object = {}): object => ({
    'com.docker.compose.project': 'station',
    'com.docker.compose.service': 'proxy',
    ...more,
  });
  const listed = [
    { Id: 'once', ImageID: 'sha256:1', Labels: labels({ 'com.docker.compose.oneoff': 'True' }) },
    { Id: 'broken', ImageID: 'sha256:1', Labels: labels() },
    { Id: 'good', ImageID: 'sha256:1', Labels: labels() },
  ];
  const asked: string[] = [];
  const call: EngineApi['call'] = async (method, path) => {
    if (method === 'GET') return { status: 200, body: listed };
    asked.push(path);
    return path.includes('broken')
      ? { status: 500, body: { message: 'no such bind mount' } }
      : { status: 204, body: null };
  };
  await assert.rejects(setRunning({ call }, 'station', 'proxy', true), /could not be started/);
  await assert.rejects(restartContainers({ call }, 'station', 'proxy'), /could not be restarted/);
  assert.deepEqual(
    asked,
    ['start', 'restart'].flatMap((verb) => [`/containers/broken/${verb}`, `/containers/good/${verb}`]),
  );
});
