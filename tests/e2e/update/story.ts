import assert from 'node:assert/strict';
import type { Status } from '@station/protocol/agent-api';
import { agentEnv, createAgentProcess, type AgentProcess } from '../../rig/agent-process.ts';
import { waitFor } from '../../rig/program.ts';
import { createSmallRig, type SmallRig, type SmallRigOptions } from '../../rig/small-rig.ts';

export type Story = AsyncDisposable & { rig: SmallRig; agent: AgentProcess };

export type StoryOptions = SmallRigOptions & {
  env?: Record<string, string>;
  /** False: the agent finds no stack and no release. */
  installed?: boolean;
  /** False: the agent is created but not started. */
  started?: boolean;
};

/** Half of the usual health gate, for a story that waits until a gate ends. */
export const shortGate = { HEALTHCHECK_TIMEOUT_SECONDS: '15' };

/** A station with release 1.0.0 running and an agent that has adopted it. */
export async function createStory(options: StoryOptions = {}): Promise<Story> {
  const rig = await createSmallRig(options);
  try {
    const first = await rig.release({ version: '1.0.0' });
    await rig.stack.writeProject(first);
    if (options.installed !== false) {
      if (rig.registry.credentials) {
        const { username, password } = rig.registry.credentials;
        await rig.engine.tryDocker(['login', '--username', username, '--password-stdin', rig.registry.address], {
          input: password,
        });
      }
      await rig.stack.up();
    }
    const agent = await createAgentProcess(rig.workspace, agentEnv(rig, options.env));
    if (options.started !== false) {
      await agent.start();
      await agent.idle();
      // The journal says nothing of the running stack until it is adopted. The check of its images uses the engine.
      if (options.installed !== false) {
        await waitFor('the stack to be adopted', async () => (await agent.status()).currentVersion);
        await waitFor('the images to be checked', async () => (await readJournal(agent))?.['imagesTrustedIn']);
      }
    }
    return { rig, agent, [Symbol.asyncDispose]: () => rig[Symbol.asyncDispose]() };
  } catch (error) {
    await rig[Symbol.asyncDispose]();
    throw error;
  }
}

async function readJournal(agent: AgentProcess): Promise<Record<string, unknown> | null> {
  const text = await agent.readState('journal.json');
  return text === null ? null : (JSON.parse(text) as { journal: Record<string, unknown> }).journal;
}

/** Whether the station says that its releases are not signed. */
export const isUnsigned = ({ conditions }: Status): boolean => conditions.some(({ id }) => id === 'updates_unsigned');

/** Checks a station at rest on a release: served, pinned, recorded, and without an operation. */
export async function assertRests({ rig, agent }: Pick<Story, 'rig' | 'agent'>, version: string): Promise<void> {
  const health = await waitFor('an answer', () => rig.stack.health());
  assert.equal(health.version, version, 'the version that answers');
  assert.equal(health.statusCode, 200);
  assert.equal(await agent.readState('current_version.txt'), `${version}\n`);
  const containers = (await rig.stack.containers()).filter(({ service }) => service !== 'proxy');
  assert.deepEqual(containers.map(({ service }) => service).sort(), ['backend', 'frontend']);
  for (const container of containers) assert.equal(container.state, 'running', container.service);
  const override = await agent.readState('compose.update.override.yml');
  for (const container of containers)
    assert.ok(override?.includes(container.imageId), `${container.service} is pinned`);
  assert.equal((await readJournal(agent))?.['operation'], null);
}
