import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { createSmallRig } from '../../rig/small-rig.ts';
import { engineOf } from './engine-of.ts';

test('the pin of an image that Compose has built is not part of the stack, and is removed', async () => {
  await using rig = await createSmallRig();
  await rig.stack.writeProject(await rig.release({ version: '1.0.0' }));
  await rig.stack.up();
  using engine = engineOf(rig);
  const stack = await engine.containers();
  const [running] = stack;
  assert.ok(running);
  // BuildKit writes the labels of the project and the service into what Compose builds; the classic builder does not.
  const folder = await rig.workspace.subfolder('built');
  await writeFile(join(folder, 'Dockerfile'), `FROM ${running.image}\nLABEL built=yes\n`);
  const service = `image: built:1\n    build: .\n`;
  await writeFile(join(folder, 'compose.yaml'), `name: station\nservices:\n  ${running.service}:\n    ${service}`);
  const built = await rig.engine.tryCompose(folder, ['build'], { env: { DOCKER_BUILDKIT: '1' } });
  assert.equal(built.exitCode, 0, built.stderr);
  const labels = await rig.engine.docker('image', 'inspect', '--format', '{{json .Config.Labels}}', 'built:1');
  assert.match(labels, /"com\.docker\.compose\.project":"station"/);

  const imageId = await engine.imageId('built:1');
  assert.ok(imageId !== null && imageId !== running.imageId);
  assert.equal(await engine.pinImage(imageId), 'pinned');
  assert.deepEqual(await engine.containers(), stack);
  assert.deepEqual(await engine.pinnedImages(), [imageId]);
  await engine.unpinImage(imageId);
  assert.deepEqual(await engine.pinnedImages(), []);
});
