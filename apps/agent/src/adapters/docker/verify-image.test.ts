import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createImageVerifier } from './verify-image.ts';

const mebibyte = 1024 * 1024;
const { signal } = new AbortController();

/** An engine with images of 100 MiB that copies each to its own disk before it hands it out. */
function createEngine(
  room: { freeMiB: number | null; freeAfterwardsMiB?: number },
  answer: { status: number; complete: boolean },
) {
  const seen = { read: 0, atOnce: 0, mostAtOnce: 0 };
  const verify = createImageVerifier({
    api: {
      call: async () => ({ status: 200, body: { Id: 'sha256:1', Size: 100 * mebibyte } }),
      drain: async () => {
        seen.read += 1;
        seen.atOnce += 1;
        seen.mostAtOnce = Math.max(seen.mostAtOnce, seen.atOnce);
        await new Promise((resolve) => setImmediate(resolve));
        seen.atOnce -= 1;
        room.freeMiB = room.freeAfterwardsMiB ?? room.freeMiB;
        return answer;
      },
    },
    freeBytes: async () => (room.freeMiB === null ? null : room.freeMiB * mebibyte),
  });
  return { verify, seen };
}
const good = { status: 200, complete: true };
const refused = { status: 500, complete: true };
const brokenOff = { status: 200, complete: false };

test('an image that the engine hands out to its end is whole', async () => {
  const { verify } = createEngine({ freeMiB: 1000 }, good);
  assert.equal(await verify('sha256:1', signal), 'whole');
});

test('an image that is refused or broken off with room to spare is damaged', async () => {
  for (const answer of [refused, brokenOff]) {
    for (const freeMiB of [1000, null]) {
      const { verify } = createEngine({ freeMiB }, answer);
      assert.equal(await verify('sha256:1', signal), 'damaged');
    }
  }
});

test('an image for whose copy there is no room is not read, and nothing is known of it', async () => {
  const { verify, seen } = createEngine({ freeMiB: 90 }, refused);
  assert.equal(await verify('sha256:1', signal), 'unknown');
  assert.equal(seen.read, 0);
});

test('nothing is known of an image when the room went while it was read', async () => {
  const { verify, seen } = createEngine({ freeMiB: 1000, freeAfterwardsMiB: 10 }, brokenOff);
  assert.equal(await verify('sha256:1', signal), 'unknown');
  assert.equal(seen.read, 1);
});

test('images are read one at a time: the copies of all may not fit', async () => {
  const { verify, seen } = createEngine({ freeMiB: 1000 }, good);
  await Promise.all(['sha256:1', 'sha256:2', 'sha256:3'].map((id) => verify(id, signal)));
  assert.deepEqual([seen.read, seen.mostAtOnce], [3, 1]);
});

test('an engine that went away does not stand in the way of the next image', async () => {
  let calls = 0;
  const verify = createImageVerifier({
    api: {
      call: async () => ({ status: 200, body: {} }),
      drain: async () => {
        calls += 1;
        if (calls === 1) throw new Error('away');
        return good;
      },
    },
    freeBytes: async () => null,
  });
  const first = verify('sha256:1', signal);
  const second = verify('sha256:2', signal);
  await assert.rejects(first, /away/);
  assert.equal(await second, 'whole');
});
