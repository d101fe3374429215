import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stateFiles } from '@station/agent/stack/state-files';
import { runAgent, type AgentRunOptions } from './agent-run.ts';
import type { PublishedImage } from './engine-state.ts';
import { createCatalogue, createWorld, imageIdOf, readFileNow, reference, type World } from './world.ts';

/*
 * A hostile registry: the signed manifest of 1.0.0 names tags, and the registry puts another image under one of them after the station
 * has left this version.
 */

const versions = ['1.0.0', '1.1.0', '1.2.0'];
const tag = reference('backend', '1.0.0');
const forged = '9.9.9';

async function updateTo(world: World, version: string, options: Partial<AgentRunOptions> = {}) {
  const request = { kind: 'update', version, offered: '1.2.0' } as const;
  return runAgent(world, { keepsSeenImages: true, ...options, request });
}

/** A station that has had 1.0.0, and keeps no image of it any more. */
async function leaveFirst(options: Partial<AgentRunOptions> = {}) {
  const catalogue = createCatalogue([...versions, forged].map((version) => ({ version })));
  const world = createWorld(catalogue, '1.0.0');
  for (const version of versions) await updateTo(world, version, options);
  assert.equal(world.engine.live.images.has(imageIdOf('backend', '1.0.0')), false);
  return { world, published: catalogue.published as Map<string, PublishedImage> };
}

const at = (published: Map<string, PublishedImage>, name: string): PublishedImage => {
  const image = published.get(name);
  assert.ok(image);
  return image;
};
const override = (world: World): string => readFileNow(world, stateFiles.updateOverride) ?? '';

describe('another image under the tag of a version that was here before', () => {
  test('is not installed: the version gets its first image by digest', async () => {
    const { world, published } = await leaveFirst();
    published.set(tag, at(published, reference('backend', forged)));
    await updateTo(world, '1.0.0');
    assert.equal(readFileNow(world, stateFiles.currentVersion), '1.0.0\n');
    assert.ok(override(world).includes(imageIdOf('backend', '1.0.0')));
    assert.equal(world.engine.live.images.has(imageIdOf('backend', forged)), false);
  });

  test('is refused when the first image is gone, and nothing changes', async () => {
    const { world, published } = await leaveFirst();
    const before = override(world);
    assert.ok(before.includes(imageIdOf('backend', '1.2.0')));
    published.delete(at(published, tag).digest);
    published.set(tag, at(published, reference('backend', forged)));
    const { answer } = await updateTo(world, '1.0.0');
    assert.equal(answer?.kind, 'started');
    const entry = answer.kind === 'started' ? await answer.ended : null;
    assert.equal(entry?.result, 'failed');
    assert.equal(entry.code, 'image_missing');
    assert.equal(override(world), before);
    assert.equal(world.engine.live.images.has(imageIdOf('backend', forged)), false);
  });

  test('is what a station without a key gets', async () => {
    const { world, published } = await leaveFirst({ keepsSeenImages: false });
    published.set(tag, at(published, reference('backend', forged)));
    await updateTo(world, '1.0.0', { keepsSeenImages: false });
    assert.ok(override(world).includes(imageIdOf('backend', forged)));
  });
});
