import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { agentFromSources, createAgentProcess, type AgentProcess } from '../rig/agent-process.ts';
import { createWorkspace, type Workspace } from '../rig/workspace.ts';

const [program, ...args] = agentFromSources;

/** The agent in its own process, on a machine without Docker. */
const createAgent = (workspace: Workspace, env: Record<string, string>): Promise<AgentProcess> =>
  createAgentProcess(
    workspace,
    {
      PATH: '/nowhere',
      HOME: workspace.folder,
      STATION_ID: '7f1f6c4e-3c5a-4b58-9a53-2f0f4f1f2a01',
      UPDATE_SERVER_URL: `file://${workspace.folder}/manifest.json`,
      COMPOSE_PROJECT_PATH: workspace.folder,
      DOCKER_HOST: `unix://${workspace.folder}/docker.sock`,
      PORT: '0',
      ...env,
    },
    'agent',
    agentFromSources,
  );

describe('the start of the agent', () => {
  it('with a bad configuration exits with 78 and one line that lists every problem, without values', async () => {
    const env = { STATION_ID: 'no uuid', PORT: 'eighty', HOST: 'a b', AGENT_TOKEN: 'a secret with spaces' };
    const agent = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
    const [output, [code]] = await Promise.all([text(agent.stdout), once(agent, 'exit') as Promise<[number]>]);
    assert.equal(code, 78);
    const lines = output
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { level: string; event: string; problems?: string[] });
    const [line] = lines.filter(({ event }) => event !== 'config_warning');
    assert.deepEqual([lines.length, line?.event, line?.level], [1, 'config_invalid', 'error']);
    for (const name of ['STATION_ID', 'UPDATE_SERVER_URL', 'PORT', 'HOST', 'AGENT_TOKEN'])
      assert.ok(
        line?.problems?.some((problem) => problem.startsWith(name)),
        `${name} in ${output}`,
      );
    for (const value of ['no uuid', 'eighty', 'a secret']) assert.ok(!output.includes(value), value);
  });

  it('without a token beyond loopback raises agent_open_on_network, in the log and in the status', async () => {
    await using workspace = await createWorkspace();
    const agent = await createAgent(workspace, { HOST: '0.0.0.0' });
    await agent.start();
    const raised = agent.events.find(({ condition }) => condition === 'agent_open_on_network');
    assert.deepEqual([raised?.event, raised?.level], ['condition_raised', 'warn']);
    assert.ok((await agent.status()).conditions.some(({ id }) => id === 'agent_open_on_network'));
    assert.equal(await agent.stop(), 0);
  });

  for (const [what, env] of [
    ['with a token', { HOST: '0.0.0.0', AGENT_TOKEN: 'a-token-that-is-long-enough' }],
    ['on loopback alone', {}],
  ] as const) {
    it(`${what} raises no such condition`, async () => {
      await using workspace = await createWorkspace();
      const agent = await createAgent(workspace, env);
      await agent.start();
      assert.ok(!(await agent.status()).conditions.some(({ id }) => id === 'agent_open_on_network'));
      assert.equal(await agent.stop(), 0);
    });
  }
});
