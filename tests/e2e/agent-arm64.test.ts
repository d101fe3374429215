import assert from 'node:assert/strict';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { agentVersion } from '@station/agent/version';
import { agentEnv, createAgentProcess, unitEnvironment, type AgentProcess } from '../rig/agent-process.ts';
import { runBuild } from '../rig/build.ts';
import { needPackages } from '../rig/debian.ts';
import { tryRun } from '../rig/program.ts';
import { createSmallRig, type SmallRig } from '../rig/small-rig.ts';
import { assertRests } from './update/story.ts';

const root = join(import.meta.dirname, '../..');

/** Most stations have this processor. On others it is emulated, with the libraries of Debian 12 for it. */
describe('the executable for arm64', () => {
  const isNative = process.arch === 'arm64';
  let rig: SmallRig;
  let command: readonly [string, ...string[]];
  let folder: string;

  before(async () => {
    const libraries = ['libc6-arm64-cross', 'libstdc++6-arm64-cross', 'libatomic1-arm64-cross'];
    if (!isNative) await needPackages(['binutils-aarch64-linux-gnu', 'qemu-user-static', ...libraries]);
    await runBuild(['agent', '--arch', 'arm64', '--release']);
    rig = await createSmallRig();
    folder = await rig.workspace.subfolder('opt');
    const executable = join(folder, 'station-agent');
    await copyFile(join(root, 'dist/agent/station-agent-linux-arm64'), executable);
    command = isNative ? [executable] : ['/usr/bin/qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu', executable];
  });
  after(() => rig[Symbol.asyncDispose]());

  const runOnce = (args: readonly string[]): ReturnType<typeof tryRun> => {
    const [program, ...before] = command;
    return tryRun(program, [...before, ...args]);
  };

  it('prints its version', async () => {
    const { exitCode, stdout } = await runOnce(['--version']);
    assert.deepEqual([exitCode, stdout], [0, `${agentVersion}\n`]);
  });

  it('reports the faults of the file beside it, with exit code 78', async () => {
    await writeFile(join(folder, '.env'), 'STATION_ID=no-uuid\nPORT=eighty\n');
    const { exitCode, stdout } = await runOnce([]);
    await writeFile(join(folder, '.env'), '');
    assert.equal(exitCode, 78);
    const { event, problems } = JSON.parse(stdout) as { event: string; problems: string[] };
    assert.equal(event, 'config_invalid');
    const names = problems.map((problem) => problem.split(' ')[0]);
    assert.deepEqual(names.sort(), ['PORT', 'STATION_ID', 'UPDATE_SERVER_URL']);
  });

  describe('on a real engine', () => {
    let agent: AgentProcess;

    it('starts and answers /health', async () => {
      await rig.stack.writeProject(await rig.release({ version: '1.0.0' }));
      await rig.stack.up();
      const env = { ...(await unitEnvironment()), ...agentEnv(rig, { HEALTHCHECK_TIMEOUT_SECONDS: '60' }) };
      agent = await createAgentProcess(rig.workspace, env, 'agent', command);
      await agent.start();
      await agent.idle();
      const { status, body } = await agent.call('GET', '/health');
      assert.equal(status, 200);
      assert.deepEqual([body['ok'], body['version']], [true, agentVersion]);
    });

    it('installs a release and stops cleanly', async () => {
      await rig.release({ version: '1.1.0' });
      assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
      await assertRests({ rig, agent }, '1.1.0');
      assert.equal(await agent.stop(), 0);
    });
  });
});
