import assert from 'node:assert/strict';
import { statfs } from 'node:fs/promises';
import { test } from 'node:test';
import { startContainerd } from '../../rig/containerd.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { createStory } from '../update/story.ts';

const megabyte = 1_000_000;

const freeAt = async (path: string): Promise<number> => {
  const { bavail, bsize } = await statfs(path);
  return bavail * bsize;
};

test('images of containerd on a small disk: the lack of space is told before anything is fetched', async () => {
  await using workspace = await createWorkspace();
  await using containerd = await startContainerd(workspace, { diskMegabytes: 300 });
  await using story = await createStory({ engine: containerd.engine });
  const { rig, agent } = story;
  const kind = await rig.engine.docker('info', '--format', '{{.DriverStatus}}');
  assert.match(kind, /io\.containerd\.snapshotter\.v1/);

  const before = await freeAt(containerd.root);
  await rig.release({ version: '1.1.0', ballast: [120 * megabyte, 120 * megabyte] });
  const { body } = await agent.call('POST', '/update');
  assert.equal((body as { code?: string }).code, 'disk_space_low', JSON.stringify(body));
  assert.deepEqual(
    agent.events.filter(({ event }) => event === 'docker_pull'),
    [],
  );
  assert.ok(before - (await freeAt(containerd.root)) < 10 * megabyte, 'nothing was written there');

  // Small to fetch, too large to unpack: no calculation foresees it.
  await rig.release({ version: '1.1.1', ballast: [{ zeros: 400 * megabyte }] });
  const unpacked = await agent.call('POST', '/update');
  assert.equal((unpacked.body as { code?: string }).code, 'disk_space_low', JSON.stringify(unpacked.body));

  await rig.release({ version: '1.2.0' });
  const next = await agent.call('POST', '/update');
  assert.equal((next.body as { result?: string }).result, 'updated', JSON.stringify(next.body));
});
