import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pinImage, unpinImage } from './containers.ts';
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

test('an image is pinned on a disk however full, if the engine says so', async () => {
  for (const status of [201, 409]) assert.equal(await pinWith(status, 0), 'pinned');
  assert.equal(await pinWith(404, 0), 'absent');
});

test('a pin is none of a stack, whatever stack its image was built in', async () => {
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
    { Id: 'ours', ImageID: 'sha256:1', Labels: { 'station.hold': 'station' } },
    { Id: 'of-another-image', ImageID: 'sha256:2', Labels: { 'station.hold': 'station' } },
    // A label that its image brings along.
    {
      Id: 'of-the-stack',
      ImageID: 'sha256:1',
      Labels: { 'station.hold': 'station', 'com.docker.compose.project': 'station' },
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
