import assert from 'node:assert/strict';
import { copyFile, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { agentEnv, createAgentProcess } from '../rig/agent-process.ts';
import { findFreePort } from '@station/kit/free-port';
import { agentExecutable, buildForTests } from '../rig/build.ts';
import { tryRun } from '../rig/program.ts';
import { createSmallRig } from '../rig/small-rig.ts';

test('the executable reads the environment file beside it', async (t) => {
  await buildForTests('agent');
  await using rig = await createSmallRig();
  await rig.stack.writeProject(await rig.release({ version: '1.0.0' }));
  await rig.stack.up();
  const folder = await rig.workspace.subfolder('opt');
  const executable = join(folder, 'station-agent');
  await copyFile(agentExecutable, executable);
  const { PATH = '', ...variables } = agentEnv(rig, {
    PORT: String(await findFreePort()),
    AGENT_TOKEN: 'agent-token-0123456789',
  });
  const lines = Object.entries(variables).map(
    ([name, value], index) => `${name}=${index % 2 === 0 ? `"${value}"` : value}`,
  );
  await writeFile(join(folder, '.env'), ['# station', 'STABILIZATION_SECONDS=40', ...lines, ''].join('\n'), {
    mode: 0o600,
  });
  const agent = await createAgentProcess(rig.workspace, { PATH }, 'agent', [executable]);

  await t.test('reads its file: removes quotes, uses the last duplicate and reports it', async () => {
    await agent.start();
    await agent.idle();
    const warnings = agent.events
      .filter((line) => line.event === 'config_warning')
      .map((line) => String(line['problem']));
    assert.ok(
      warnings.some((text) => text.includes('STABILIZATION_SECONDS')),
      warnings.join('; '),
    );
    assert.equal((await agent.status()).currentVersion, '1.0.0');
    assert.equal(await readFile(`/proc/${agent.pid()}/comm`, 'utf8'), 'station-agent\n', 'its name in ps and top');
  });

  await t.test('a person reads the status, updates and rolls back with its commands', async () => {
    const command = (...args: string[]) => tryRun(executable, args, { env: { PATH } });
    const status = await command('status');
    assert.match(status.stdout, /^Release +1\.0\.0$/m, status.stderr);
    assert.match(status.stdout, /^Service +backend: running/m);
    await rig.release({ version: '1.1.0', ballast: [1_000_000] });
    const checked = await command('check', '--json');
    assert.deepEqual((JSON.parse(checked.stdout) as { release: object }).release, {
      ok: true,
      latestVersion: '1.1.0',
      updateAvailable: true,
    });
    const updated = await command('update', '1.1.0');
    assert.match(updated.stdout, /^Update to 1\.1\.0: [^]*^1\.1\.0 runs now instead of 1\.0\.0 \(/m, updated.stderr);
    assert.equal(updated.exitCode, 0);
    assert.equal((await command('update')).stdout, '1.1.0 runs already.\n');
    const back = (await command('rollback', '--json')).stdout.trim().split('\n');
    const { result, to } = JSON.parse(back.at(-1) ?? '') as { result: string; to: string };
    assert.deepEqual([result, to], ['rolled_back', '1.0.0']);
    const failed = await command('update', '9.9.9');
    assert.equal(failed.exitCode, 1);
    assert.match(failed.stdout, /^Release 9\.9\.9 was not installed: registry .* has no station\/backend 9\.9\.9\.$/m);
  });

  await t.test('stops cleanly on SIGTERM', async () => {
    assert.equal(await agent.stop(), 0);
    assert.ok(agent.events.some((line) => line.event === 'agent_stopping'));
    const { exitCode, stderr } = await tryRun(executable, ['status'], { env: { PATH } });
    assert.equal(exitCode, 69);
    assert.match(stderr, /^station-agent: the agent does not answer at http:\/\/127\.0\.0\.1:\d+ \(ECONNREFUSED\)/);
  });
});
