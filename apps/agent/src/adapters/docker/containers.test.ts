import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hold } from './containers.ts';

// Answers that an engine gives only in trouble; the rest is shown on a real one (e2e update).
const mebibyte = 1024 * 1024;
const holdWith = (status: number, freeBytes: number | null) =>
  hold({ call: async () => ({ status, body: { message: 'said' } }) }, 'station', 'sha256:1', async () => freeBytes);

test('an image of which no container can be made is broken, unless the disk is full', async () => {
  assert.equal(await holdWith(500, 100 * mebibyte), 'broken');
  assert.equal(await holdWith(500, null), 'broken');
  assert.equal(await holdWith(500, mebibyte), 'unknown');
});

test('an image is held on a disk however full, if the engine says so', async () => {
  for (const status of [201, 409]) assert.equal(await holdWith(status, 0), 'held');
  assert.equal(await holdWith(404, 0), 'absent');
});
