import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StationError } from '@station/kit/station-error';
import { createProjectReader } from './compose-project.ts';

function createWorld() {
  const world = { nowMs: 0, version: '1', isBroken: true, asked: 0 };
  const describe = async () => {
    world.asked += 1;
    await Promise.resolve();
    if (world.isBroken) throw new StationError('compose_project_unreadable', 'broken');
    return { name: 'stack', services: [`v${world.version}`], images: [] };
  };
  const read = createProjectReader({ describe, version: async () => world.version }, () => world.nowMs);
  return { world, read };
}
const isBroken = { code: 'compose_project_unreadable' };

test('a broken project is asked for once in a while, and at once when its files change', async () => {
  const { world, read } = createWorld();
  await Promise.all([1, 2, 3].map(() => assert.rejects(read({ evenIfOld: false }), isBroken)));
  await assert.rejects(read({ evenIfOld: true }), isBroken);
  assert.equal(world.asked, 1);
  world.nowMs = 60_000;
  await assert.rejects(read({ evenIfOld: true }), isBroken);
  assert.equal(world.asked, 2);
  Object.assign(world, { isBroken: false, version: '2' });
  assert.deepEqual((await read({ evenIfOld: false })).services, ['v2']);
  assert.deepEqual((await read({ evenIfOld: false })).services, ['v2']);
  assert.equal(world.asked, 3);
});

test('a project that broke later keeps its name, and its services are not told any more', async () => {
  const { world, read } = createWorld();
  world.isBroken = false;
  await read({ evenIfOld: false });
  Object.assign(world, { isBroken: true, version: '2' });
  await assert.rejects(read({ evenIfOld: false }), isBroken);
  assert.equal((await read({ evenIfOld: true })).name, 'stack');
});
