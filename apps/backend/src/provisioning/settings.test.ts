import assert from 'node:assert/strict';
import { readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { AgentSettings } from '@station/protocol/rest';
import { openSecretBox } from '../store/secret-box.ts';
import { createSettingsStore } from './settings-store.ts';
import { bearer, runBackend, type RunningBackend } from '../../testing/running-backend.ts';

const agentToken = 'token-of-the-agent';
const wifi = { ssid: 'Хата', password: 'very secret network key', security: 'wpa2' };

const post = (running: RunningBackend, payload: object, token = agentToken) =>
  running.http.inject({ method: 'POST', url: '/api/settings/agent', headers: bearer(token), payload });

async function readBack(running: RunningBackend): Promise<unknown> {
  const box = await openSecretBox({ disk: nodeDisk, path: join(running.dataDir, 'settings-key') });
  const settings = createSettingsStore({ db: running.backend.db, box, clock: systemClock });
  return settings.readSecret('wifi', AgentSettings.properties.wifi);
}

test('the Wi-Fi that the agent forwards is kept, encrypted', async () => {
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
  assert.equal((await post(running, { wifi: { ssid: 'Old', password: '' } })).statusCode, 204);
  assert.equal((await post(running, { wifi })).statusCode, 204);
  assert.deepEqual(await readBack(running), wifi);
  const { value } = await running.backend.db.selectFrom('settings').select('value').executeTakeFirstOrThrow();
  for (const secret of [wifi.password, wifi.ssid])
    assert.ok(!Buffer.from(value, 'base64').toString('latin1').includes(secret));
  const key = join(running.dataDir, 'settings-key');
  assert.equal((await stat(key)).mode & 0o777, 0o600);
  assert.ok(!running.logger.lines.some((line) => line.includes(wifi.password)));
});

test('the agent sets and reads the Wi-Fi below its own address, and never gets the password back', async () => {
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
  const url = '/api/agent/wifi';
  const headers = bearer(agentToken);
  assert.deepEqual((await running.http.inject({ url, headers })).json(), { wifi: null });
  assert.equal((await running.http.inject({ method: 'POST', url, headers, payload: { wifi } })).statusCode, 204);
  assert.deepEqual(await readBack(running), wifi);
  const shown = await running.http.inject({ url, headers });
  const { ssid, security, updatedAt } = shown.json().wifi;
  assert.deepEqual([ssid, security, typeof updatedAt], [wifi.ssid, wifi.security, 'string']);
  assert.ok(!shown.body.includes(wifi.password));
  await running.http.inject({ method: 'POST', url, headers, payload: { wifi: { ssid: 'Open', password: '' } } });
  assert.equal((await running.http.inject({ url, headers })).json().wifi.security, null);
  assert.equal((await running.http.inject({ method: 'POST', url, headers, payload: {} })).statusCode, 400);
  for (const method of ['GET', 'POST'] as const) {
    assert.equal((await running.http.inject({ method, url })).statusCode, 401);
    assert.equal((await running.http.inject({ method, url, headers: bearer('another') })).statusCode, 401);
  }
});

test('people set the Wi-Fi for new devices, read its name back, and never its password', async () => {
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
  const headers = bearer((await running.setUp()).accessToken);
  const url = '/api/settings/wifi';
  assert.deepEqual((await running.http.inject({ method: 'GET', url, headers })).json(), {
    ssid: null,
    isOpen: false,
    updatedAt: null,
  });
  const payload = { ssid: wifi.ssid, password: wifi.password };
  const set = await running.http.inject({ method: 'PUT', url, headers, payload });
  assert.equal(set.statusCode, 200);
  const shown = await running.http.inject({ method: 'GET', url, headers });
  assert.equal(shown.json().ssid, wifi.ssid);
  assert.equal(shown.json().isOpen, false);
  assert.ok(!`${set.body}${shown.body}`.includes(wifi.password));
  assert.deepEqual(await readBack(running), payload);
  assert.equal((await running.http.inject({ method: 'DELETE', url, headers })).statusCode, 204);
  assert.equal(await readBack(running), null);
  assert.equal((await running.http.inject({ method: 'PUT', url, headers, payload: { ssid: '' } })).statusCode, 400);
});

test('with another key the old value is gone, not wrong', async () => {
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
  await post(running, { wifi });
  const before = await readFile(join(running.dataDir, 'settings-key'), 'utf8');
  await rm(join(running.dataDir, 'settings-key'));
  assert.equal(await readBack(running), null);
  assert.notEqual(await readFile(join(running.dataDir, 'settings-key'), 'utf8'), before);
});

test('a sealed text opens for its own purpose only, and not after a change', async () => {
  await using running = await runBackend();
  const box = await openSecretBox({ disk: nodeDisk, path: join(running.dataDir, 'settings-key') });
  const sealed = box.seal('text', 'wifi');
  assert.equal(box.open(sealed, 'wifi'), 'text');
  assert.equal(box.open(sealed, 'mqtt'), null);
  const bytes = Buffer.from(sealed, 'base64');
  for (let index = 0; index < bytes.length; index++) {
    const changed = Buffer.from(bytes);
    changed[index] = (changed[index] ?? 0) ^ 1;
    assert.equal(box.open(changed.toString('base64'), 'wifi'), null, `byte ${index}`);
  }
  assert.equal(box.open('', 'wifi'), null);
  assert.notEqual(box.seal('text', 'wifi'), sealed);
});

test('a bad body is refused and changes nothing', async () => {
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
  await post(running, { wifi });
  for (const payload of [
    {},
    { wifi: {} },
    { wifi: { ...wifi, ssid: '' } },
    { wifi: { ...wifi, extra: 1 } },
    { wifi, extra: 1 },
  ]) {
    assert.equal((await post(running, payload)).statusCode, 400);
  }
  assert.equal((await post(running, { wifi: { ssid: 'Other', password: 'x' } }, 'wrong')).statusCode, 401);
  assert.deepEqual(await readBack(running), wifi);
});
