import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { exists } from '@station/kit/durable-files';
import { createDockerEngine } from '../rig/docker-engine.ts';
import { findLeftovers, type Leftovers } from '../rig/leftovers.ts';
import { run, waitFor } from '../rig/program.ts';
import { createRegistry } from '../rig/registry.ts';
import type { Behaviour } from '../rig/small-images.ts';
import { createSmallDisk } from '../rig/small-disk.ts';
import { createSmallRig } from '../rig/small-rig.ts';
import { createSmallStack, pinnedByDigest, type SmallStack } from '../rig/small-stack.ts';
import { createWorkspace, sweepWorkspaces } from '../rig/workspace.ts';

/** Asserts that what `before` lists is gone from the machine, checked independently of the rig's own search. */
async function assertGone(folder: string, before: Leftovers): Promise<void> {
  for (const { pid, command } of before.processes) {
    const now = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    assert.ok(!now.includes(folder), `process ${pid} still runs: ${command}`);
  }
  const mounts = await readFile('/proc/self/mountinfo', 'utf8');
  assert.ok(!mounts.includes(folder), `a mount below ${folder} is left`);
  const interfaces = await run('ip', ['-oneline', 'link', 'show']);
  for (const name of before.interfaces) assert.ok(!interfaces.includes(`${name}:`), `interface ${name} is left`);
  for (const path of before.cgroups) assert.equal(await exists(path), false, `${path} is left`);
  assert.equal(await exists(folder), false, `${folder} is left`);
}

const programs = ['dockerd', 'containerd ', 'containerd-shim', 'httpd', 'docker-registry'];

function assertInUse(before: Leftovers, expected: readonly string[] = programs): void {
  const commands = before.processes.map((each) => each.command).join('\n');
  for (const program of expected) {
    assert.match(commands, new RegExp(program), `${program} was expected to run`);
  }
  assert.ok(
    before.mounts.length > 0 && before.interfaces.length > 0 && before.cgroups.length > 0,
    'nothing to clean up',
  );
}

test('a published release runs on its own engine and leaves nothing on the machine', async () => {
  const rig = await createSmallRig({ proxy: true });
  const { folder } = rig.workspace;
  let before: Leftovers;
  try {
    const release = await rig.release({ version: '1.0.0' });
    await rig.stack.writeProject(release);
    await rig.stack.up();
    const health = await waitFor('the stack to be healthy', () => rig.stack.health());
    assert.deepEqual(health, { statusCode: 200, status: 'ok', version: '1.0.0', checks: {} });
    const announced = await fetch(rig.releases.manifestUrl);
    assert.deepEqual(await announced.json(), release.manifest);
    const etag = announced.headers.get('etag') ?? '';
    const again = await fetch(rig.releases.manifestUrl, { headers: { 'if-none-match': etag } });
    assert.equal(again.status, 304);
    const running = await rig.stack.containers();
    assert.deepEqual(running.map((each) => `${each.service} ${each.state}`).sort(), [
      'backend running',
      'frontend running',
      'proxy running',
    ]);
    before = await findLeftovers(folder);
    assertInUse(before);
  } finally {
    await rig[Symbol.asyncDispose]();
  }
  await assertGone(folder, before);
});

test('a killed dockerd leaves nothing behind', async () => {
  const rig = await createSmallRig();
  const { folder } = rig.workspace;
  let before: Leftovers;
  try {
    await rig.stack.writeProject(await rig.release({ version: '1.0.0', behaviour: 'ignore-sigterm' }));
    await rig.stack.up();
    await rig.engine.kill();
    before = await findLeftovers(folder);
    assertInUse(before, ['containerd-shim', 'httpd']);
  } finally {
    await rig[Symbol.asyncDispose]();
  }
  await assertGone(folder, before);
});

test('a release is pulled by digest, and an image that was not pushed is missing', async () => {
  await using rig = await createSmallRig();
  const pinned = pinnedByDigest(await rig.stack.publish({ version: '1.0.0' }));
  await rig.stack.writeProject(pinned);
  await rig.stack.up();
  const backend = (await rig.stack.containers()).find((each) => each.service === 'backend');
  assert.equal(backend?.image, pinned.manifest.images.backend);
  assert.match(pinned.manifest.images.backend, /@sha256:[0-9a-f]{64}$/);

  await rig.stack.writeProject(await rig.stack.publish({ version: '1.1.0', missing: ['frontend'] }));
  const result = await rig.engine.tryCompose(rig.stack.folder, ['pull']);
  assert.match(result.stderr, /manifest unknown|not found/);
});

test('a private registry requires its password', async () => {
  const credentials = { username: 'station', password: 'not a:simple "password"' };
  await using rig = await createSmallRig({ credentials });
  const { images } = (await rig.stack.publish({ version: '1.0.0' })).manifest;
  const refused = await rig.engine.tryDocker(['pull', images.backend]);
  assert.notEqual(refused.exitCode, 0);
  assert.match(refused.stderr, /no basic auth credentials/);

  const login = ['login', '--username', credentials.username, '--password-stdin', rig.registryAddress];
  const wrong = await rig.engine.tryDocker(login, { input: 'wrong' });
  assert.notEqual(wrong.exitCode, 0);
  const right = await rig.engine.tryDocker(login, { input: credentials.password });
  assert.equal(right.exitCode, 0, right.stderr);
  await rig.engine.docker('pull', images.backend);
});

test('a registry can be stopped, restarted and disconnected', async () => {
  await using rig = await createSmallRig({ throughLink: true });
  const { images } = (await rig.stack.publish({ version: '1.0.0', ballast: [1_000_000] })).manifest;
  await rig.registry.stop();
  assert.notEqual((await rig.engine.tryDocker(['pull', images.backend])).exitCode, 0);
  await rig.registry.start();
  await rig.link.cut();
  assert.match((await rig.engine.tryDocker(['pull', images.backend])).stderr, /connection refused/);
  await rig.link.restore();
  await rig.engine.docker('pull', images.backend);
});

test('a small data disk runs full', async () => {
  await using workspace = await createWorkspace();
  const engine = await createDockerEngine(workspace, { dataDiskMegabytes: 48 });
  const registry = await createRegistry(workspace);
  const stack = await createSmallStack(workspace, { engine, registry });
  const { images } = (await stack.publish({ version: '1.0.0', ballast: [30_000_000, 30_000_000] })).manifest;
  const result = await engine.tryDocker(['pull', images.backend]);
  assert.match(result.stderr, /no space left on device/);
});

test('a disk on a disk leaves nothing behind while another program has a copy of its mounts', async () => {
  const workspace = await createWorkspace();
  const outer = await workspace.subfolder('outer');
  await createSmallDisk({ image: join(workspace.folder, 'outer.ext4'), folder: outer, megabytes: 64 });
  const inner = await workspace.subfolder('inner');
  await createSmallDisk({ image: join(outer, 'inner.ext4'), folder: inner, megabytes: 16 });
  const other = spawn('sh', ['-c', 'exec unshare --mount sh -c "echo ready && exec sleep 1000"']);
  try {
    await once(other.stdout, 'data');
    const before = await findLeftovers(workspace.folder);
    assert.equal(before.mounts.length, 2);
    await workspace[Symbol.asyncDispose]();
    await assertGone(workspace.folder, before);
  } finally {
    other.kill();
  }
});

test('the services of the small stack behave as configured', async () => {
  await using rig = await createSmallRig();
  const { engine, registry, workspace } = rig;
  /** @param meanwhile observes from the beginning, because short states may be over when the stack is up. */
  const start = async (
    project: string,
    behaviour: Behaviour,
    meanwhile: (stack: SmallStack) => Promise<unknown> = async () => undefined,
  ): Promise<SmallStack> => {
    const stack = await createSmallStack(workspace, { engine, registry, project });
    await stack.writeProject(await stack.publish({ version: '1.0.0', behaviour }));
    await Promise.all([stack.up(), meanwhile(stack)]);
    return stack;
  };
  const ok = { statusCode: 200, status: 'ok', version: '1.0.0', checks: {} };
  const unhealthy = { statusCode: 503, status: 'error', version: '1.0.0' };
  const statusIs = (code: number) => (stack: SmallStack) =>
    waitFor(`status ${code}`, async () => (await stack.health())?.statusCode === code);
  const restarts = async (stack: SmallStack): Promise<number> =>
    (await stack.containers()).find((each) => each.service === 'backend')?.restartCount ?? 0;

  // It is good for longer than a busy machine takes to see it, and meanwhile the others have their turn.
  const degrading = await start('degrading', { kind: 'unhealthy-after', seconds: 30 }, statusIs(200));

  const answerOf = async (stack: SmallStack) => waitFor('an answer', () => stack.health());
  assert.deepEqual(await answerOf(await start('good', 'good')), ok);
  assert.deepEqual(await answerOf(await start('unhealthy', 'unhealthy')), unhealthy);

  const hanging = await start('hang', 'hang');
  assert.equal(await hanging.health(), null);

  const looping = await start('loop', 'crash-loop');
  await waitFor('three restarts', async () => (await restarts(looping)) >= 3);
  assert.equal(await looping.health(), null);

  const slow = await start('slow', { kind: 'slow-start', seconds: 8 });
  await statusIs(200)(slow);
  const slowBackend = (await slow.containers()).find(({ service }) => service === 'backend');
  assert.ok(Date.now() - Date.parse(slowBackend?.startedAt ?? '') >= 8_000);

  // A request before the container is on its network may make it unreachable for three seconds, so it must run longer.
  const crashing = await start('crash', { kind: 'crash-after', seconds: 10 }, statusIs(200));
  await waitFor('a restart', async () => (await restarts(crashing)) >= 1);

  await statusIs(503)(degrading);

  await start('deaf', 'ignore-sigterm');
  await engine.docker('kill', '--signal', 'TERM', 'deaf-backend');
  assert.equal(await engine.docker('inspect', '--format', '{{.State.Status}}', 'deaf-backend'), 'running');
});

/** Starts this file's rig in its own process; resolves with its workspace when the stack runs. */
async function startElsewhere() {
  const child = spawn(process.execPath, [join(import.meta.dirname, '../rig/hold-a-rig.ts')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [folder] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const before = await findLeftovers(folder);
  assertInUse(before);
  return { child, folder, before };
}

test('Ctrl-C in the middle of a test leaves nothing behind', async () => {
  const { child, folder, before } = await startElsewhere();
  child.kill('SIGINT');
  const [, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null];
  assert.equal(signal, 'SIGINT');
  await assertGone(folder, before);
});

test('the next test run removes the leftovers of a killed one', async () => {
  const { child, folder, before } = await startElsewhere();
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(await exists(folder), true);
  await sweepWorkspaces();
  await assertGone(folder, before);
});

for (const store of ['overlay2', 'containerd'] as const) {
  test(`Debian 13's Docker keeps its images in ${store} and runs them`, async () => {
    await using rig = await createSmallRig({ engine: { store } });
    const release = await rig.release({ version: '1.0.0' });
    await rig.stack.writeProject(release);
    await rig.stack.up();
    assert.equal((await waitFor('the stack to be healthy', () => rig.stack.health())).version, '1.0.0');
    const { Driver, DriverStatus } = JSON.parse(await rig.engine.docker('info', '--format', '{{json .}}')) as {
      Driver: string;
      DriverStatus: string[][];
    };
    const isContainerd = DriverStatus.some(([, value]) => value === 'io.containerd.snapshotter.v1');
    assert.deepEqual([Driver, isContainerd], store === 'overlay2' ? ['overlay2', false] : ['overlayfs', true]);
  });
}
