import assert from 'node:assert/strict';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { startFirmwareServer, type FirmwareServer } from '@station/simulators/firmware/firmware-server';
import { buildImage, checksumOfFile } from '@station/simulators/firmware/image-builder';
import { agentWithoutDocker, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { startOtaBackend, type OtaBackendDouble } from '../../rig/ota-backend.ts';
import { run, systemEnv, waitFor } from '../../rig/program.ts';
import { createWorkspace, type Workspace } from '../../rig/workspace.ts';
import { createStory } from '../update/story.ts';

const size = 1_200_000;
const imageOf = (version: string): Uint8Array => buildImage({ project: 'lamp', version, bytes: size });
const downloads = (server: FirmwareServer) => server.requests.filter(({ path }) => path.endsWith('.bin'));
const sentBytes = (server: FirmwareServer): number => downloads(server).reduce((sum, each) => sum + each.sentBytes, 0);

type Scene = AsyncDisposable & {
  workspace: Workspace;
  server: FirmwareServer;
  backend: OtaBackendDouble;
  agent: AgentProcess;
};

/** A real agent without a stack, which its firmware loop does not need. */
async function createScene(options: { bytesPerSecond?: number; env?: Record<string, string> } = {}): Promise<Scene> {
  const workspace = await createWorkspace();
  const { bytesPerSecond = Infinity } = options;
  const server = workspace.own(await startFirmwareServer({ bytesPerSecond }));
  const backend = workspace.own(await startOtaBackend());
  const agent = await createAgentProcess(
    workspace,
    {
      ...systemEnv,
      HOME: workspace.folder,
      STATION_ID: '7f1f6c4e-3c5a-4b58-9a53-2f0f4f1f2a01',
      UPDATE_SERVER_URL: `${server.origin}/releases/manifest.json`,
      FIRMWARE_MANIFEST_URL: server.manifestUrl,
      COMPOSE_PROJECT_PATH: workspace.folder,
      BACKEND_URL: backend.origin,
      BACKEND_AGENT_TOKEN: backend.token,
      PORT: '0',
      ...options.env,
    },
    'agent',
    agentWithoutDocker,
  );
  return { workspace, server, backend, agent, [Symbol.asyncDispose]: () => workspace[Symbol.asyncDispose]() };
}

/** Checks a firmware at rest: complete in the cache, with metadata, handed over, no temporary files. */
async function assertRests({ agent, backend }: Scene, version: string): Promise<void> {
  const image = imageOf(version);
  assert.ok((await readFile(join(agent.cacheDir, `lamp@${version}.bin`))).equals(image), 'byte for byte');
  const { firmware, conditions } = await agent.status();
  const [item] = firmware.items;
  assert.deepEqual([item?.version, item?.checksum, item?.size], [version, checksumOfFile(image), size]);
  assert.deepEqual([item?.handedOver, firmware.lastError, firmware.download], [true, null, null]);
  assert.deepEqual(
    conditions.filter(({ id }) => id.startsWith('firmware_')),
    [],
  );
  assert.equal(backend.accepted.at(-1)?.version, version);
  assert.deepEqual(
    (await readdir(agent.cacheDir)).filter((name) => name.startsWith('.')),
    [],
  );
}

describe('firmware in a real agent', () => {
  it('is cached and handed over to the backend, with events, status and metrics', async () => {
    await using scene = await createScene();
    const { server, backend, agent } = scene;
    server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    backend.installed.set('lamp', ['1.0.0']);
    await agent.start();
    await agent.event('firmware_handed_over');
    await assertRests(scene, '1.0.0');
    server.offer('lamp', '1.1.0', imageOf('1.1.0'));
    const after = agent.events.length;
    assert.deepEqual((await agent.call('POST', '/check')).body['firmware'], { ok: true });
    await agent.event('firmware_handed_over', { after });
    await assertRests(scene, '1.1.0');
    backend.installed.set('lamp', ['1.1.0']);
    await agent.call('POST', '/check');
    await agent.event('firmware_old_removed', { after });
    assert.deepEqual((await readdir(agent.cacheDir)).sort(), ['lamp.json', 'lamp@1.1.0.bin']);
    await server.goOffline();
    for (let tries = 0; tries < 4; tries += 1) await agent.call('POST', '/check');
    await agent.event('firmware_check_failed', { after });
    const reported = new Set(agent.events.map(({ event }) => event));
    for (const name of [
      'firmware_update_available',
      'firmware_download_start',
      'firmware_download_done',
      'firmware_ready',
      'firmware_old_removed',
      'firmware_check_retry',
      'firmware_check_failed',
    ])
      assert.ok(reported.has(name), name);
    const metrics = await fetch(
      `${(agent.events.find(({ event }) => event === 'agent_ready')?.['addresses'] as string[])[0]}/metrics`,
    );
    const text = await metrics.text();
    assert.match(text, /station_agent_firmware_cached\{name="lamp",version="1\.1\.0"\} 1/);
    assert.match(text, /station_agent_firmware_downloads_total\{result="done"\} 2/);
    assert.ok(!agent.output().includes(backend.token), 'the token appears nowhere');
  });

  it('survives kill -9 at every 5 % of the download, and fetches again nothing that it had reported', async () => {
    await using scene = await createScene({ bytesPerSecond: 100_000 });
    const { server, agent } = scene;
    server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await agent.start();
    const kills: { requests: number; reportedBytes: number }[] = [];
    for (let percent = 5; percent < 100; percent += 5) {
      const { download, items } = await waitFor(`${percent} %`, async () => {
        const { firmware } = await agent.status();
        const far = (firmware.download?.progress.percent ?? 0) >= percent || firmware.items.length > 0;
        return far && firmware;
      });
      if (!download && items.length > 0) break;
      await agent.kill();
      kills.push({ requests: downloads(server).length, reportedBytes: download?.progress.doneBytes ?? 0 });
      await agent.start();
    }
    await agent.event('firmware_handed_over');
    await assertRests(scene, '1.0.0');
    // Each kill also loses what the kernel had received for the process.
    const again = sentBytes(server) - size;
    process.stdout.write(`${kills.length} kills, ${again} bytes fetched again of ${size}\n`);
    assert.ok(kills.length >= 10, `${kills.length}`);
    for (const { requests, reportedBytes } of kills) {
      const next = downloads(server)[requests];
      const offset = Number(/^bytes=(\d+)-/.exec(next?.range ?? '')?.[1] ?? 0);
      // Without a next request it was complete.
      if (next !== undefined)
        assert.ok(offset >= reportedBytes, `from ${offset}, after ${reportedBytes} were reported`);
    }
  });

  it('is handed over after a kill -9 at its publication, also when the backend is offline', async () => {
    await using scene = await createScene();
    const { server, backend, agent } = scene;
    await backend.stop();
    server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await agent.start();
    await agent.event('firmware_ready');
    await agent.kill();
    await backend.start();
    await agent.start();
    await agent.event('firmware_handed_over');
    await assertRests(scene, '1.0.0');
    assert.equal(sentBytes(server), size);
  });

  it('is refused with a condition when the disk is full, and stored when there is space', async () => {
    await using scene = await createScene();
    const { workspace, server, agent } = scene;
    const mount = await workspace.subfolder('agent/firmware-cache');
    await run('mount', ['-t', 'tmpfs', '-o', 'size=40m', 'tmpfs', mount]);
    const filler = join(mount, 'filler');
    await writeFile(filler, Buffer.alloc(7 * 2 ** 20 + 2 ** 19));
    server.offer('lamp', '1.0.0', imageOf('1.0.0'));
    await agent.start();
    const failed = await agent.event('firmware_download_failed');
    assert.match(String(failed['reason']), /too little space/);
    const { conditions, firmware } = await agent.status();
    assert.ok(conditions.some(({ id }) => id === 'firmware_cache_not_writable'));
    assert.match(firmware.lastError ?? '', /too little space/);
    await rm(filler);
    await agent.call('POST', '/check');
    await agent.event('firmware_handed_over');
    await assertRests(scene, '1.0.0');
  });
});

it('a slow firmware download does not delay an update of the stack', async () => {
  // A piece every few seconds, until the update is done.
  const server = await startFirmwareServer({ bytesPerSecond: 4_000 });
  const backend = await startOtaBackend();
  await using stack = new AsyncDisposableStack();
  stack.use(server);
  stack.use(backend);
  const image = buildImage({ project: 'lamp', version: '1.0.0', bytes: 480_000 });
  server.offer('lamp', '1.0.0', image);
  const env = { FIRMWARE_MANIFEST_URL: server.manifestUrl, BACKEND_URL: backend.origin };
  const story = stack.use(await createStory({ env: { ...env, BACKEND_AGENT_TOKEN: backend.token } }));
  const { rig, agent } = story;
  await agent.event('firmware_download_start');
  await rig.release({ version: '1.1.0' });
  const answer = await agent.call('POST', '/update');
  assert.deepEqual([answer.status, answer.body['result']], [200, 'updated']);
  const { firmware } = await agent.status();
  assert.equal(firmware.download?.name, 'lamp', 'the download is still running');
  server.setSpeed(Infinity);
  await agent.event('firmware_handed_over');
  assert.equal(sentBytes(server), image.length);
});
