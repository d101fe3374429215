import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import type { WifiStatus } from '@station/protocol/agent-api';
import type { RadioReport } from '@station/protocol/provisioning';
import { createAgentClient } from '../core/adapters/agent-client.ts';
import { remoteHelper, untilScanning } from '../../testing/remote-helper.ts';
import { runBackend } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { until } from '../../testing/until.ts';
import { askForPause } from './radio-pause.ts';

const since = '2026-03-01T12:00:00.000Z';
const status = (clients: number, state: WifiStatus['watchdog']['state']): WifiStatus => ({
  mode: 'hotspot',
  ssid: null,
  ip: null,
  signal: null,
  connectivity: null,
  hotspot: { active: clients > 0, ssid: 'Station', ip: '192.0.2.1', clients },
  watchdog: { state, since, attempts: 0, nextRetryAt: null, lastFailure: null },
});

test('the hotspot with clients and a join need the radio; an agent that does not answer does not', async () => {
  await using agent = await simulateAgent();
  const ask = () => askForPause(createAgentClient({ kind: 'tcp', url: agent.url }, null));
  assert.equal(await ask(), null, 'an agent without the route');
  agent.answer('/wifi/status', 200, { some: 'thing else' });
  assert.equal(await ask(), null);
  agent.answer('/wifi/status', 200, status(0, 'HOTSPOT_ACTIVE'));
  assert.equal(await ask(), null);
  agent.answer('/wifi/status', 200, status(1, 'HOTSPOT_ACTIVE'));
  assert.equal(await ask(), 'hotspot_in_use');
  agent.answer('/wifi/status', 200, status(0, 'JOINING'));
  assert.equal(await ask(), 'joining');
});

test('the scan pauses as soon as the agent tells of a join, and clients see why', async () => {
  await using agent = await simulateAgent();
  agent.answer('/wifi/status', 200, status(0, 'CONNECTED'));
  await using helper = await remoteHelper();
  await using running = await runBackend({ env: { ...helper.env, AGENT_URL: agent.url } });
  const { accessToken: token } = await running.setUp();
  const socket = new WebSocket(`${running.backend.url.replace('http', 'ws')}/ws`);
  const reports: RadioReport[] = [];
  socket.on('message', (data: Buffer) => {
    const message = JSON.parse(data.toString()) as { type: string; radio: RadioReport };
    if (message.type === 'provisioning_radio') reports.push(message.radio);
  });
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token }));
  await untilScanning(helper);
  await until('the backend listens to the agent', () => agent.streams() === 1);
  agent.answer('/wifi/status', 200, status(0, 'JOINING'));
  agent.emit({ time: since, level: 'info', event: 'wifi_join_started', ssid: 'Home' });
  await until('the scan was stopped', () => !helper.isScanning());
  await until('the client sees why', () => reports.at(-1)?.state === 'paused');
  assert.equal(reports.at(-1)?.reason, 'joining');
  agent.answer('/wifi/status', 200, status(0, 'CONNECTED'));
  agent.emit({ time: since, level: 'info', event: 'wifi_joined', ssid: 'Home', ip: '192.168.1.2' });
  await untilScanning(helper);
  await until('the client sees it', () => reports.at(-1)?.state === 'scanning');
  socket.close();
});
