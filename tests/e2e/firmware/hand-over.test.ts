import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { startFirmwareServer } from '@station/simulators/firmware/firmware-server';
import { buildImage, checksumOfFile } from '@station/simulators/firmware/image-builder';
import { agentWithoutDocker, createAgentProcess } from '../../rig/agent-process.ts';
import { systemEnv, waitFor } from '../../rig/program.ts';
import { createWorkspace } from '../../rig/workspace.ts';
import { install, stationId } from '../backend/installation.ts';

const token = 'token-between-agent-and-backend';
const imageOf = (version: string): Uint8Array => buildImage({ project: 'climate', version, bytes: 100_000 });

it('the backend gets every firmware after kills and lost records on either side', async (t) => {
  await using installation = await install('the embedded broker and SQLite', {
    devices: 4,
    env: { AGENT_TOKEN: token },
  });
  await using workspace = await createWorkspace();
  await using server = await startFirmwareServer();
  const agent = await createAgentProcess(
    workspace,
    {
      ...systemEnv,
      HOME: workspace.folder,
      STATION_ID: stationId,
      UPDATE_SERVER_URL: `${server.origin}/releases/manifest.json`,
      FIRMWARE_MANIFEST_URL: server.manifestUrl,
      COMPOSE_PROJECT_PATH: workspace.folder,
      BACKEND_URL: installation.url,
      BACKEND_AGENT_TOKEN: token,
      PORT: '0',
    },
    'agent',
    agentWithoutDocker,
  );
  type Row = { type: string; version: string; checksum: string };
  const known = (): Promise<Row[]> => installation.query<Row>('select type, version, checksum from firmware_images');
  const assertKnown = async (version: string): Promise<void> => {
    const rows = (await known()).filter((row) => row.version === version);
    assert.deepEqual(
      rows.map(({ type, checksum }) => ({ type, checksum })),
      [{ type: 'climate', checksum: checksumOfFile(imageOf(version)) }],
    );
    const { firmware, conditions } = await agent.status();
    assert.deepEqual([firmware.items[0]?.version, firmware.items[0]?.handedOver], [version, true]);
    assert.ok(!conditions.some(({ id }) => id.startsWith('firmware_')));
  };
  const handedOver = (after: number) => agent.event('firmware_handed_over', { after });

  await t.test('when both run', async () => {
    await installation.startBackend();
    server.offer('climate', '1.0.0', imageOf('1.0.0'));
    await agent.start();
    await handedOver(0);
    await assertKnown('1.0.0');
  });

  await t.test('when the backend is offline while a version appears', async () => {
    await installation.stopBackend('SIGKILL');
    server.offer('climate', '1.1.0', imageOf('1.1.0'));
    const after = agent.events.length;
    await agent.call('POST', '/check');
    await agent.event('firmware_hand_over_failed', { after });
    await installation.startBackend();
    await agent.call('POST', '/check');
    await handedOver(after);
    await assertKnown('1.1.0');
  });

  await t.test('when the agent is killed while it hands over', async () => {
    server.offer('climate', '1.2.0', imageOf('1.2.0'));
    const after = agent.events.length;
    await agent.call('POST', '/check');
    await agent.event('firmware_ready', { after });
    await agent.kill();
    await agent.start();
    await waitFor('the hand-over', async () => (await known()).some(({ version }) => version === '1.2.0'));
    await waitFor('the agent to record it', async () => (await agent.status()).firmware.items[0]?.handedOver === true);
    await assertKnown('1.2.0');
  });

  await t.test('when the agent has lost its state', async () => {
    await agent.kill();
    await rm(agent.dataDir, { recursive: true });
    const after = agent.events.length;
    await agent.start();
    await handedOver(after);
    await assertKnown('1.2.0');
  });

  await t.test('when the backend has lost its database', async () => {
    await installation.stopBackend('SIGKILL');
    await rm(join(installation.folder, 'data'), { recursive: true });
    await installation.startBackend();
    const after = agent.events.length;
    await agent.call('POST', '/check');
    await handedOver(after);
    await assertKnown('1.2.0');
  });
});
