import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { test } from 'node:test';
import { notificationTopics } from '@station/protocol/notifications';
import { chain, node } from '../../testing/automation-world.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';

/** Takes connections and says nothing, or `firstLine` and then nothing. */
async function hang(firstLine = ''): Promise<AsyncDisposable & { port: number; heard: () => number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(firstLine);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    heard: () => sockets.size,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}

test('a mail server, ntfy server and webhook that hang hold up no stop of the backend', async () => {
  await using mail = await hang('220 hello\r\n');
  await using ntfy = await hang();
  await using webhook = await hang();
  const station = await runBackend({ env: { AUTOMATION_WEBHOOK_ALLOW: '127.0.0.1' } });
  const { accessToken } = await station.setUp();
  const ask = async (method: 'PUT' | 'POST', url: string, payload: object) => {
    const response = await station.http.inject({ method, url, headers: bearer(accessToken), payload });
    assert.ok(response.statusCode < 300, response.body);
    return response.body === '' ? null : response.json<{ id: string }>();
  };
  const topics = [...notificationTopics];
  const language = 'en';
  await ask('PUT', '/api/notifications/station', {
    rules: { offlineMinutes: 5, batteryPercent: 20, updates: true, conditions: true },
    mail: { host: '127.0.0.1', port: mail.port, security: 'none', username: '', from: 'station@example.org' },
    ntfy: { url: `http://127.0.0.1:${ntfy.port}`, topic: 'home', token: '', topics, language },
    webhook: { url: `http://127.0.0.1:${webhook.port}/hook`, topics, language },
  });
  await ask('PUT', '/api/notifications/preferences', { email: true, topics, quiet: null, language });
  const flow = chain([
    node('at', 'trigger', 'schedule', { time: '12:00' }),
    node('say', 'action', 'notify', { message: 'Leak' }),
  ]);
  const automation = await ask('POST', '/api/automations', { name: 'Leak', flow });
  await ask('POST', `/api/automations/${automation?.id}/run`, {});
  await until('all three are asked', () => mail.heard() > 0 && ntfy.heard() > 0 && webhook.heard() > 0);
  const before = performance.now();
  await station[Symbol.asyncDispose]();
  const tookMs = performance.now() - before;
  assert.ok(tookMs < 5_000, `the stop took ${tookMs} ms`);
});
