import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { agentEnv, createAgentProcess } from '../../rig/agent-process.ts';
import { assertRests, createStory } from './story.ts';

const credentials = { username: 'station', password: 'correct-horse-7391' };

test('a private registry with the right password', async () => {
  await using story = await createStory({ credentials, started: false });
  const { rig } = story;
  // Only the agent has credentials; the Docker client of this machine has none.
  await rig.engine.docker('logout', rig.registry.address);
  const env = agentEnv(rig, {
    CONTAINER_REGISTRY: rig.registry.address,
    CONTAINER_USERNAME: credentials.username,
    CONTAINER_TOKEN: credentials.password,
  });
  const agent = await createAgentProcess(rig.workspace, env, 'private');
  await agent.start();
  await agent.idle();
  await rig.release({ version: '1.1.0', ballast: [2_000_000] });
  await using argv = watchArguments();
  const answer = await agent.call('POST', '/update');
  assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
  await assertRests({ rig, agent }, '1.1.0');
  const seen = await argv.stop();
  assert.ok(seen.size > 0, 'arguments of other programs were read');
  const encoded = Buffer.from(`${credentials.username}:${credentials.password}`).toString('base64');
  for (const secret of [credentials.password, encoded]) {
    assert.ok(![...seen].some((line) => line.includes(secret)), 'no password in any argument');
    assert.ok(!agent.output().includes(secret), 'no password in the log');
  }
});

test('a new station uses them also for images that no release names', async () => {
  await using story = await createStory({ credentials, proxy: true, installed: false, started: false });
  const { rig } = story;
  const { engine, registry, stack } = rig;
  const proxy = `${registry.address}/station/proxy:2`;
  const login = ['login', '--username', credentials.username, '--password-stdin', registry.address];
  assert.equal((await engine.tryDocker(login, { input: credentials.password })).exitCode, 0);
  await engine.docker('tag', 'caddy:2', proxy);
  await engine.docker('push', '--quiet', proxy);
  await engine.docker('logout', registry.address);
  await engine.docker('rmi', '--force', 'caddy:2', proxy);
  const compose = await readFile(stack.composeFile, 'utf8');
  assert.ok(compose.includes('image: caddy:2\n'));
  await writeFile(stack.composeFile, compose.replace('image: caddy:2\n', `image: ${proxy}\n`));
  const env = agentEnv(rig, {
    BOOTSTRAP_ON_START: 'true',
    CONTAINER_REGISTRY: registry.address,
    CONTAINER_USERNAME: credentials.username,
    CONTAINER_TOKEN: credentials.password,
  });
  const agent = await createAgentProcess(rig.workspace, env, 'fresh');
  await agent.start();
  await agent.event('update_completed');
  await agent.idle();
  await assertRests({ rig, agent }, '1.0.0');
});

for (const [name, env] of [
  ['a wrong password', { CONTAINER_USERNAME: 'station', CONTAINER_TOKEN: 'wrong-horse-7391' }],
  ['no password', {}],
] as const) {
  test(`a private registry with ${name} gives a clear error`, async () => {
    await using story = await createStory({ credentials, started: false });
    const { rig } = story;
    const agent = await createAgentProcess(
      rig.workspace,
      agentEnv(rig, { CONTAINER_REGISTRY: rig.registry.address, ...env }),
      'private',
    );
    await agent.start();
    await agent.idle();
    await rig.release({ version: '1.1.0' });
    const answer = await agent.call('POST', '/update');
    assert.deepEqual([answer.status, answer.body['code']], [502, 'registry_auth_failed']);
    assert.ok(!JSON.stringify(answer.body).includes('wrong-horse'));
    assert.ok(!agent.output().includes('wrong-horse'));
    assert.ok((await agent.status()).conditions.some(({ id }) => id === 'registry_auth_failed'));
    assert.equal((await rig.stack.health())?.version, '1.0.0');
  });
}

/** Reads the arguments of every process on the machine until it is stopped. */
function watchArguments(): AsyncDisposable & { stop(): Promise<Set<string>> } {
  const seen = new Set<string>();
  let going = true;
  const watching = (async () => {
    while (going) {
      for (const pid of (await readdir('/proc')).filter((entry) => /^\d+$/.test(entry))) {
        seen.add((await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).replaceAll('\0', ' '));
      }
    }
  })();
  const stop = async (): Promise<Set<string>> => {
    going = false;
    await watching;
    return seen;
  };
  return { stop, [Symbol.asyncDispose]: async () => void (await stop()) };
}
