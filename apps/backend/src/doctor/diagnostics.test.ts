import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { SystemDoctor } from '@station/protocol/doctor';
import { bearer, owner, runBackend } from '../../testing/running-backend.ts';
import { seeded } from '../../testing/seeded.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { redact } from './redact-decide.ts';

const agentToken = 'marked-token-of-the-agent';
const wifi = { ssid: 'Marked Network', password: 'marked "wifi" pass' };

const agentReport = {
  program: 'agent',
  version: '1.0.0',
  at: '2026-01-01T00:00:00.000Z',
  status: 'warning',
  checks: [
    {
      id: 'clock',
      title: 'Clock',
      status: 'warning',
      detail: null,
      findings: [{ code: 'x', status: 'warning', message: 'm', help: 'h', values: {} }],
    },
  ],
};

async function stationWithAgent() {
  await using starting = new AsyncDisposableStack();
  const path = join(starting.use(await temporaryFolder()).path, 'agent.sock');
  const agent = starting.use(await simulateAgent(path));
  const env = {
    AGENT_SOCKET: path,
    AGENT_TOKEN: agentToken,
    JWT_SECRET: 'marked-jwt-secret-of-32-characters',
    STATION_CODE: 'MARKEDCODE23',
    PUBLIC_URL: 'http://someone:marked-url-pass@station.local',
  };
  const running = starting.use(await runBackend({ env }));
  const session = await running.http
    .inject({ method: 'POST', url: '/api/auth/setup', payload: { code: env.STATION_CODE, ...owner } })
    .then((response) => response.json<{ accessToken: string }>());
  const kept = starting.move();
  return { agent, running, token: session.accessToken, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

test('admins get the report of the backend and of the agent; several requests are one examination', async () => {
  await using station = await stationWithAgent();
  const { agent, running, token } = station;
  const ask = () => running.http.inject({ method: 'GET', url: '/api/system/doctor', headers: bearer(token) });
  agent.answer('/version', 200, {});
  const [first, second] = await Promise.all([ask(), ask()]);
  assert.equal(first.statusCode, 200);
  const report = first.json<SystemDoctor>();
  assert.equal(report.backend.at, second.json<SystemDoctor>().backend.at);
  assert.deepEqual([report.agent, report.agentMissing], [null, 'outdated']);
  assert.ok(report.backend.checks.some(({ id, status }) => id === 'agent' && status === 'ok'));
  agent.answer('/doctor', 200, agentReport);
  assert.deepEqual((await ask()).json<SystemDoctor>().agent, agentReport);
  assert.equal((await running.http.inject({ method: 'GET', url: '/api/system/doctor' })).statusCode, 401);
});

test('the bundle has what support needs, and no secret of the station', async () => {
  await using station = await stationWithAgent();
  const { agent, running, token } = station;
  const saved = await running.http.inject({
    method: 'POST',
    url: '/api/agent/wifi',
    headers: bearer(agentToken),
    payload: { wifi },
  });
  assert.ok(saved.statusCode < 300, saved.body);
  const leaks = [wifi.password, wifi.ssid, owner.email, 'other@example.net', agentToken];
  const lines = leaks.map((leak) =>
    JSON.stringify({ event: 'wifi_join_failed', reason: `told ${leak}`, deep: { psk: leak } }),
  );
  agent.answer('/log', 200, { lines: [...lines, '{"event":"agent_ready"}', 'no JSON: password=marked-in-text'] });
  agent.answer('/status', 200, { currentVersion: '1.2.3', wifi: { ssid: wifi.ssid }, note: `Bearer ${token}` });
  agent.answer('/doctor', 200, agentReport);
  const url = '/api/system/diagnostics';
  const response = await running.http.inject({ method: 'GET', url, headers: bearer(token) });
  assert.equal(response.statusCode, 200);
  assert.match(
    String(response.headers['content-disposition']),
    /^attachment; filename="station-diagnostics-.*\.json"$/,
  );
  const bundle = response.json<Record<string, never>>();
  assert.equal(bundle['format'], 1);
  for (const part of [
    'version',
    'configuration',
    'conditions',
    'clock',
    'devices',
    'files',
    'log',
    'doctor',
    'agentStatus',
  ]) {
    assert.ok(part in bundle, part);
  }
  assert.match(response.body, /"agent_ready"/);
  assert.match(response.body, /"backend_started"|"setup_done"|"event"/);
  const key = (await readFile(join(running.dataDir, 'settings-key'), 'utf8')).trim();
  const secrets = [
    ...leaks,
    owner.password,
    token,
    key,
    'MARKEDCODE23',
    'marked',
    'Marked',
    JSON.stringify(wifi.password),
  ];
  for (const secret of secrets) assert.ok(!response.body.includes(secret), `${secret} is in the bundle`);
});

test('a marked secret is removed wherever it stands: 2,000 random values', () => {
  const random = seeded(4_711);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T;
  const known = ['KNOWN secret "1"', 'ключ-№-2', 'k/3?=&'];
  const texts = [
    ...known.flatMap((one) => [
      one,
      `said ${one}.`,
      JSON.stringify({ a: one }),
      `http://x/?q=${encodeURIComponent(one)}`,
    ]),
    'mqtt://me:LEAK@host:1883',
    'mail to LEAK@example.org now',
    'Authorization: Bearer LEAK',
    'password=LEAK&x=1',
    '{"token": "LEAK"}',
    '$argon2id$v=19$m=1$LEAK',
  ];
  const plain = ['a word', 'sha256:0123abcd', '2026-01-01T00:00:00.000Z', 17, true, null];
  const valueOf = (depth: number): unknown => {
    const kind = random();
    if (depth > 6 || kind < 0.4) return random() < 0.5 ? pick(texts) : pick(plain);
    const items = Array.from({ length: 1 + Math.floor(random() * 4) }, () => valueOf(depth + 1));
    if (kind < 0.6) return items;
    return Object.fromEntries(items.map((item, at) => [random() < 0.2 ? pick(known) : `field${at}`, item]));
  };
  const forbidden = [
    'LEAK',
    ...known.flatMap((one) => [one, JSON.stringify(one).slice(1, -1), encodeURIComponent(one)]),
  ];
  for (let round = 0; round < 2_000; round += 1) {
    const value = { value: valueOf(0), apiToken: 'LEAK', password: ['LEAK'], deviceSecret: { inner: 'LEAK' } };
    const text = JSON.stringify(redact(value, known));
    for (const one of forbidden) assert.ok(!text.includes(one), `${one} in ${text}`);
  }
  assert.deepEqual(redact({ plain, count: 3 }, known), { plain, count: 3 });
});
