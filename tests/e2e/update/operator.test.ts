import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { LogLine } from '@station/protocol/agent-machine';
import { waitFor } from '../../rig/program.ts';
import { assertRests, createStory } from './story.ts';

/** Reads lines of logs as they come. */
async function followLogs(socketPath: string, path: string) {
  const lines: LogLine[] = [];
  const outgoing = request({ socketPath, path, agent: false });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  assert.equal(response.statusCode, 200);
  let rest = '';
  response.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part.startsWith('data: ')) lines.push(JSON.parse(part.slice(6)) as LogLine);
  });
  response.on('error', () => undefined);
  return { lines, [Symbol.asyncDispose]: async () => void response.destroy() };
}

test('an operator on the same machine', async (t) => {
  await using story = await createStory();
  const { rig, agent } = story;
  await writeFile(join(rig.stack.folder, '.env'), '# the stack\'s own\nJWT_SECRET="a b"\n', { mode: 0o640 });
  await rig.release({ version: '1.1.0' });
  assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');

  await t.test('keeps the installed release with a bare "docker compose up -d"', async () => {
    const before = await rig.stack.containers();
    await rig.stack.up();
    const after = await rig.stack.containers();
    assert.deepEqual(after.map(({ id }) => id).sort(), before.map(({ id }) => id).sort(), 'no container was recreated');
    await assertRests(story, '1.1.0');
  });

  await t.test('finds the other lines of the environment file untouched', async () => {
    const text = await readFile(join(rig.stack.folder, '.env'), 'utf8');
    assert.match(
      text,
      /^# the stack's own\nJWT_SECRET="a b"\n# The station agent .+\nCOMPOSE_FILE=docker-compose.yml:.+compose.update.override.yml\n$/,
    );
  });

  await t.test('follows the log of a service through its restart, which leaves the release as it is', async () => {
    const before = await rig.stack.containers();
    await using log = await followLogs(agent.socketPath, '/logs?service=backend');
    const first = await waitFor('the last lines', async () => log.lines[0] ?? null);
    assert.equal(first.service, 'backend');
    assert.match(first.time, /^\d{4}-\d\d-\d\dT[\d:]+\.\d+Z$/);
    const startedAt = Date.now();
    assert.equal((await agent.call('POST', '/services/restart', { body: { service: 'backend' } })).status, 202);
    assert.equal((await agent.call('POST', '/services/restart', { body: { service: 'frontend' } })).status, 409);
    await agent.event('service_restarted');
    await waitFor('a line of the new process', async () => {
      const last = log.lines.at(-1);
      return last && Date.parse(last.time) > startedAt ? last : null;
    });
    const keys = log.lines.map(({ time, text }) => `${time} ${text}`);
    assert.equal(new Set(keys).size, keys.length, 'no line comes twice');
    const after = await rig.stack.containers();
    assert.deepEqual(after.map(({ id }) => id).sort(), before.map(({ id }) => id).sort(), 'no container was recreated');
    // A server that has just started may still end connections.
    const isHealthy = async () => (await rig.stack.health().catch(() => null))?.statusCode === 200;
    await waitFor('the backend to be healthy', isHealthy);
    const { stack } = await agent.status();
    assert.deepEqual([stack.restart?.service, stack.restart?.isFailed], ['backend', false]);
    assert.equal((await agent.call('POST', '/services/restart', { body: { service: 'nobody' } })).status, 404);
    assert.equal((await agent.call('GET', '/logs?service=nobody')).status, 404);
    await assertRests(story, '1.1.0');
  });

  await t.test('keeps it also after "docker compose down" and "docker image prune -af"', async () => {
    await rig.engine.compose(rig.stack.folder, 'down');
    await rig.engine.docker('image', 'prune', '-af');
    await rig.registry.stop();
    await rig.stack.up();
    await waitFor('the backend to be healthy', async () => (await rig.stack.health())?.statusCode === 200);
    await assertRests(story, '1.1.0');
    await rig.registry.start();
  });

  await t.test('an override file of the operator stays active', async () => {
    await using other = await createStory({ started: false });
    await writeFile(
      join(other.rig.stack.folder, 'docker-compose.override.yml'),
      'services:\n  backend:\n    environment:\n      MARK: "1"\n',
    );
    await other.agent.start();
    await other.agent.idle();
    await other.rig.release({ version: '1.1.0' });
    const { body } = await other.agent.call('POST', '/update');
    assert.equal(body['result'], 'updated', JSON.stringify(body));
    const printed = await other.rig.engine.docker('inspect', '--format', '{{json .Config.Env}}', 'station-backend');
    assert.match(printed, /MARK=1/);
    await assertRests(other, '1.1.0');
  });
});

test('adopts the state of an older agent', async (t) => {
  await using story = await createStory({ started: false });
  const { rig, agent } = story;
  const earlier = await rig.stack.publish({ version: '0.9.0' });
  for (const image of Object.values(earlier.manifest.images)) await rig.engine.docker('pull', '--quiet', image);
  await mkdir(agent.dataDir, { recursive: true });
  const put = (name: string, text: string): Promise<void> => writeFile(join(agent.dataDir, name), text);
  await put('current_version.txt', 'v1.0.0\n');
  await put('rollback.json', JSON.stringify({ version: '0.9.0', images: earlier.manifest.images, at: 1 }));
  await put('compose.update.override.yml', 'services:\n  backend:\n    image: something-else:9\n');
  await agent.start();
  await agent.idle();

  await t.test('the running release is current, the recorded one is previous', async () => {
    const status = await agent.status();
    assert.deepEqual([status.currentVersion, status.rollback?.version], ['1.0.0', '0.9.0']);
    // The agent answers before it has written what it adopted.
    await waitFor('the adopted version', async () => (await agent.readState('current_version.txt')) === '1.0.0\n');
    await assertRests(story, '1.0.0');
    assert.equal((await agent.call('POST', '/rollback')).body['to'], '0.9.0');
    await assertRests(story, '0.9.0');
  });

  await t.test('damaged state files never stop the agent', async () => {
    for (const damage of ['', '{"sha256":"', 'x'.repeat(100_000), '{"sha256":"00","journal":{"format":2}}']) {
      await agent.stop();
      await put('journal.json', damage);
      await put('rollback.json', '{');
      await put('current_version.txt', 'not a version');
      const before = agent.events.length;
      await agent.start();
      await agent.event('state_repaired', { after: before });
      await agent.idle();
      assert.equal((await agent.status()).currentVersion, null, 'the version is unknown');
      assert.equal((await waitFor('an answer', () => rig.stack.health())).version, '0.9.0');
    }
  });
});
