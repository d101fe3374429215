import assert from 'node:assert/strict';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { agentEnv, createAgentProcess } from '../rig/agent-process.ts';
import { agentExecutable, buildForTests } from '../rig/build.ts';
import { createSmallRig } from '../rig/small-rig.ts';

test('the executable reads the environment file beside it', async (t) => {
  await buildForTests('agent');
  await using rig = await createSmallRig();
  await rig.stack.writeProject(await rig.release({ version: '1.0.0' }));
  await rig.stack.up();
  const folder = await rig.workspace.subfolder('opt');
  const executable = join(folder, 'station-agent');
  await copyFile(agentExecutable, executable);
  const { PATH = '', ...variables } = agentEnv(rig);
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
  });

  await t.test('stops cleanly on SIGTERM', async () => {
    assert.equal(await agent.stop(), 0);
    assert.ok(agent.events.some((line) => line.event === 'agent_stopping'));
  });
});
