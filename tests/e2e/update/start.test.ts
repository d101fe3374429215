import assert from 'node:assert/strict';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse, stringify } from 'yaml';
import { agentEnv, createAgentProcess } from '../../rig/agent-process.ts';
import { assertRests, createStory, type Story } from './story.ts';

const statesOf = async ({ rig }: Pick<Story, 'rig'>): Promise<string[]> =>
  (await rig.stack.containers()).map(({ state }) => state);

test('the start of the agent on a real engine', async (t) => {
  await using story = await createStory({ started: false });
  const { rig, agent } = story;

  await t.test('a request right after the agent listens is answered with its outcome', async () => {
    await rig.release({ version: '1.1.0' });
    await agent.start();
    const answer = await agent.call('POST', '/update');
    assert.deepEqual([answer.status, answer.body['result']], [200, 'updated'], JSON.stringify(answer.body));
    await agent.idle();
    await assertRests(story, '1.1.0');
  });

  await t.test('a stack that somebody stopped stays down without BOOTSTRAP_ON_START', async () => {
    await agent.stop();
    await rig.engine.compose(rig.stack.folder, 'stop');
    const before = agent.events.length;
    await agent.start();
    await agent.idle();
    // The agent observes the stack before its first check for releases.
    assert.equal((await agent.call('POST', '/check')).status, 200);
    assert.deepEqual(await statesOf(story), ['exited', 'exited']);
    assert.deepEqual(
      (await agent.status()).stack.services.map(({ state }) => state),
      ['exited', 'exited'],
    );
    assert.ok(!agent.events.slice(before).some(({ event }) => event === 'docker_restart'));
  });

  await t.test('and is started with it', async () => {
    await agent.stop();
    const bringing = await createAgentProcess(rig.workspace, agentEnv(rig, { BOOTSTRAP_ON_START: 'true' }));
    await bringing.start();
    await bringing.event('bootstrap_done');
    await bringing.idle();
    await assertRests({ rig, agent: bringing }, '1.1.0');
    await bringing.stop();
  });
});

test('a stack that the agent never managed also stays down', async () => {
  await using story = await createStory({ started: false });
  const { rig, agent } = story;
  await rig.engine.compose(rig.stack.folder, 'stop');
  await agent.start();
  await agent.event('stack_adopted');
  await agent.idle();
  assert.equal((await agent.call('POST', '/check')).status, 200);
  assert.deepEqual(await statesOf(story), ['exited', 'exited']);
  assert.equal((await agent.status()).currentVersion, '1.0.0');
});

test('containers without Compose labels are found by their names', async () => {
  const names = { BACKEND_CONTAINER_NAME: 'my.backend', FRONTEND_CONTAINER_NAME: 'my-frontend' };
  await using story = await createStory({ installed: false, started: false, env: names });
  const { rig, agent } = story;
  const { manifest } = await rig.release({ version: '1.0.0' });
  for (const [service, name] of Object.entries({ backend: 'my.backend', frontend: 'my-frontend' })) {
    const image = manifest.images[service as keyof typeof manifest.images];
    await rig.engine.docker('run', '--detach', '--init', '--name', name, image);
  }
  await agent.start();
  const adopted = await agent.event('stack_adopted');
  assert.equal(adopted['currentVersion'], '1.0.0');
  const { services } = (await agent.status()).stack;
  assert.deepEqual(services.map(({ name, state }) => [name, state]).sort(), [
    ['backend', 'running'],
    ['frontend', 'running'],
  ]);
});

test('an update starts the profiles of the stack’s .env', async () => {
  await using story = await createStory({ started: false });
  const { rig, agent } = story;
  const project = parse(await readFile(rig.stack.composeFile, 'utf8')) as {
    services: Record<string, { image: string; profiles?: string[] }>;
  };
  project.services['extra'] = { image: project.services['frontend']?.image ?? '', profiles: ['more'] };
  project.services['other'] = { image: project.services['frontend']?.image ?? '', profiles: ['unused'] };
  await writeFile(rig.stack.composeFile, stringify(project));
  await writeFile(join(rig.stack.folder, '.env'), 'COMPOSE_PROFILES=more\n');
  await agent.start();
  await agent.idle();
  await rig.release({ version: '1.1.0' });
  const answer = await agent.call('POST', '/update');
  assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
  const containers = await rig.stack.containers();
  assert.deepEqual(containers.map(({ service, state }) => [service, state]).sort(), [
    ['backend', 'running'],
    ['extra', 'running'],
    ['frontend', 'running'],
  ]);
});

test('reports an environment file of the stack that cannot be written, until it can be written', async () => {
  await using story = await createStory();
  const { rig, agent } = story;
  const inTheWay = join(rig.stack.folder, '..env.tmp');
  await mkdir(inTheWay);
  await rig.release({ version: '1.1.0' });
  assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
  const standing = async (): Promise<string[]> => (await agent.status()).conditions.map(({ id }) => id);
  assert.ok((await standing()).includes('compose_not_linked'));
  await rm(inTheWay, { recursive: true });
  await rig.release({ version: '1.2.0' });
  assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
  assert.ok(!(await standing()).includes('compose_not_linked'));
});
