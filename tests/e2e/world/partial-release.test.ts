import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { createStory, type Story } from '../update/story.ts';

/** Publishes a release whose manifest names these services alone; those that it does not build get the image of its frontend. */
async function publish({ rig }: Story, version: string, services: readonly string[]): Promise<Record<string, string>> {
  const { manifest } = await rig.stack.publish({ version });
  const images = Object.fromEntries(
    services.map((service) => [service, manifest.images[service as 'backend'] ?? manifest.images.frontend]),
  );
  rig.releases.setManifest({ version, images });
  return images;
}

/** Service → image that it runs, of every service with a container. */
async function imagesOf({ rig }: Story): Promise<Record<string, string>> {
  const containers = await rig.stack.containers();
  return Object.fromEntries(
    containers.filter(({ state }) => state === 'running').map(({ service, imageId }) => [service, imageId]),
  );
}

test('a release changes what it names and what runs here, and nothing else', async (t) => {
  await using story = await createStory({ started: false });
  const { rig, agent } = story;
  const project = parse(await readFile(rig.stack.composeFile, 'utf8')) as { services: Record<string, object> };
  const image = { image: (project.services['frontend'] as { image: string }).image };
  project.services['database'] = { ...image, profiles: ['with-database'] };
  project.services['cache'] = { ...image, deploy: { replicas: 0 } };
  await writeFile(rig.stack.composeFile, stringify(project));
  await agent.start();
  await agent.idle();
  const first = await imagesOf(story);
  let second: Record<string, string>;

  await t.test('the backend alone', async () => {
    await publish(story, '1.1.0', ['backend']);
    const answer = await agent.call('POST', '/update');
    assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
    second = await imagesOf(story);
    assert.notEqual(second['backend'], first['backend']);
    assert.equal(second['frontend'], first['frontend']);
  });

  await t.test('the frontend, services that are switched off, and one that the owner has removed', async () => {
    const images = await publish(story, '1.2.0', ['frontend', 'database', 'cache', 'postgres']);
    const answer = await agent.call('POST', '/update');
    assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
    const third = await imagesOf(story);
    assert.deepEqual(Object.keys(third).sort(), ['backend', 'frontend']);
    assert.equal(third['backend'], second['backend']);
    assert.notEqual(third['frontend'], second['frontend']);
    const ignored = agent.events.findLast(({ event }) => event === 'release_services_ignored');
    assert.deepEqual(ignored?.['services'], ['database', 'cache', 'postgres']);
    assert.equal(images['frontend'] !== undefined, true);
  });

  await t.test('a rollback brings both services of the release before back', async () => {
    const answer = await agent.call('POST', '/rollback');
    assert.equal(answer.body['result'], 'rolled_back', JSON.stringify(answer.body));
    assert.deepEqual(await imagesOf(story), second);
  });

  await t.test('a service that the owner switches off later is no fault of the next release', async () => {
    project.services['frontend'] = { ...project.services['frontend'], deploy: { replicas: 0 } };
    await writeFile(rig.stack.composeFile, stringify(project));
    await publish(story, '1.3.0', ['backend', 'frontend']);
    const answer = await agent.call('POST', '/update');
    assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
    assert.deepEqual(Object.keys(await imagesOf(story)), ['backend']);
  });

  await t.test('a release of nothing that runs here is refused', async () => {
    await publish(story, '1.4.0', ['database', 'cache']);
    const answer = await agent.call('POST', '/update');
    assert.equal(answer.body['code'], 'manifest_rejected');
    assert.match(String(answer.body['message']), /names no service that runs on this station/);
  });
});
