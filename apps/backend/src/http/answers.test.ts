import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { test } from 'node:test';
import { maxAnswerBytes } from '@station/protocol/rest';
import { maxStateBytes } from '../core/device-state.ts';
import { newDeviceRow } from '../store/device-store.ts';
import type { Database } from '../store/schema.ts';
import type { LightMyRequestResponse as Response } from 'fastify';
import { bearer, runBackend, type RunningBackend } from '../../testing/running-backend.ts';

const agentToken = 'agent-token-of-this-test';
/** Three bytes in UTF-8, the most for one UTF-16 unit. */
const wide = (length: number): string => '猫'.repeat(length);
const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUIDv7());
const counts = { devices: 12, events: 300, zones: 900, members: 500, unknown: 500, automations: 200, runs: 30 };

async function fillDevices(db: Database, deviceIds: readonly string[]): Promise<void> {
  for (const [n, id] of deviceIds.entries()) {
    const start = Object.fromEntries(Array.from({ length: 255 }, (_, k) => [`${k} ${wide(40)}`, k]));
    const missing = maxStateBytes - Buffer.byteLength(JSON.stringify({ ...start, text: '' }));
    const state = JSON.stringify({ ...start, text: 'x'.repeat(missing) });
    const times = JSON.stringify(Object.fromEntries(Object.keys(start).map((key) => [key, 1_700_000_000_000])));
    const row = newDeviceRow({ externalId: `device-${n}`, type: wide(64), name: wide(100), zoneId: null }, `t${n}`, 1);
    const more = {
      firmware_version: wide(128),
      chip: wide(128),
      state,
      state_at: 1_800_000_000_000,
      value_times: times,
    };
    await db
      .insertInto('devices')
      .values({ ...row, ...more, id })
      .execute();
  }
  const events = ids(counts.events).map((id, n) => ({
    id,
    device_id: deviceIds[0]!,
    kind: 'device_event',
    // Some are from before the limit of 4 KiB.
    data: JSON.stringify({ action: 'pressed', text: 'x'.repeat(n % 50 === 0 ? 250_000 : 4_000) }),
    at: n,
  }));
  for (const event of events) await db.insertInto('device_events').values(event).execute();
  const change = { id: randomUUIDv7(), ssid: wide(10), credentials: null, state: 'ended', started_by: null } as const;
  await db
    .insertInto('wifi_changes')
    .values({ ...change, started_at: 1, ended_at: 2 })
    .execute();
}

async function fillPeople(db: Database): Promise<void> {
  for (const [n, id] of ids(counts.zones).entries())
    await db
      .insertInto('zones')
      .values({ id, name: `${n} ${wide(90)}`, created_at: n })
      .execute();
  for (const [n, id] of ids(counts.members).entries()) {
    const person = { email: `${n}${wide(240)}@x.org`, name: wide(100), role: 'member', station_password_hash: null };
    const home = { cloud_user_id: null, home_email: null, home_password_hash: null, home_role: null, created_at: n };
    await db
      .insertInto('users')
      .values({ id, ...person, ...home, role: 'member' })
      .execute();
    await db.insertInto('station_members').values({ user_id: id, role: 'member', joined_at: n }).execute();
  }
  for (let n = 0; n < counts.unknown; n += 1) {
    const told = { type: wide(128), chip: wide(128), firmware_version: wide(128), token_hash: null, contested: 0 };
    const accepted = { accepted_name: null, accepted_zone_id: null, accepted_until: null };
    const seen = { first_seen_at: n, last_seen_at: n, blocked: 0 };
    await db
      .insertInto('unknown_devices')
      .values({ external_id: `${n}${wide(60)}`, ...told, ...accepted, ...seen })
      .execute();
  }
}

async function fillAutomations(db: Database, deviceId: string): Promise<string[]> {
  const automationIds = ids(counts.automations);
  const flow = JSON.stringify({ nodes: [], edges: [] });
  const published = { published_mode: null, published_flow: null, published_at: null };
  const trigger = (bytes: number): string =>
    JSON.stringify({ kind: 'manual', nodeId: null, deviceId, userId: null, data: { from: 'x'.repeat(bytes), to: 1 } });
  for (const [n, id] of automationIds.entries()) {
    const own = {
      id,
      name: `${n} ${wide(90)}`,
      mode: 'single',
      flow,
      revision: 0,
      created_at: n,
      updated_at: n,
    } as const;
    await db
      .insertInto('automations')
      .values({ ...own, ...published })
      .execute();
    const runs = ids(n === 0 ? counts.runs : 1);
    for (const [index, run] of runs.entries()) {
      const row = { id: run, automation_id: id, status: 'completed', reason: null, cause: run, flow } as const;
      const rest = { owner: null, lease_until: null, wake_at: null, started_at: index, ended_at: index };
      const data = trigger(index === 0 ? 250_000 : 3_500);
      await db
        .insertInto('automation_runs')
        .values({ ...row, ...rest, trigger: data })
        .execute();
      for (let position = 0; n === 0 && position < 100; position += 1) {
        const step = {
          run_id: run,
          node_id: `${position}${wide(60)}`,
          position,
          kind: 'notify',
          status: 'done',
        } as const;
        const ended = { started_at: 1, ended_at: 1, due_at: null, late_ms: null, detail: wide(100) };
        await db
          .insertInto('automation_steps')
          .values({ ...step, ...ended })
          .execute();
      }
    }
  }
  return automationIds;
}

async function fillFirmware(db: Database, deviceIds: readonly string[]): Promise<string[]> {
  const rollouts = ids(50);
  const settings = JSON.stringify({ canary: 1, waves: [0.1, 0.5, 1], concurrency: 10, soakMs: 60_000, maxFailures: 2 });
  for (const id of rollouts) {
    const row = { id, type: wide(128), version: '1.0.0', state: 'done', settings, wave: 0 } as const;
    const rest = { reason: wide(1_000), requested_by: null, created_at: 1, ended_at: 1 };
    await db
      .insertInto('firmware_rollouts')
      .values({ ...row, ...rest })
      .execute();
    for (const deviceId of deviceIds) {
      const target = { rollout_id: id, device_id: deviceId, state: 'failed', phase: null, percent: null } as const;
      const numbers = { wave: 0, failures: 1, interruptions: 0, handshakes: 0, not_before: 0, started_at: 1 };
      await db
        .insertInto('firmware_targets')
        .values({ ...target, ...numbers, reason: wide(10_000), changed_at: 1 })
        .execute();
    }
  }
  return rollouts;
}

/** Reads a path to its last page. */
async function readAll({ http }: RunningBackend, path: string, headers: Record<string, string>) {
  const pages: unknown[] = [];
  for (let url: string | undefined = path; url !== undefined;) {
    const response: Response = await http.inject({ url, headers });
    assert.notEqual(response.statusCode, 500, url);
    const bytes: number = response.rawPayload.length;
    assert.ok(bytes <= maxAnswerBytes, `${url}: ${bytes} bytes`);
    assert.ok(pages.length < 200, `${url} does not end`);
    if (response.statusCode === 200 && /json/.test(String(response.headers['content-type'])))
      pages.push(response.json());
    else pages.push(response.statusCode);
    url = /^<(.*)>; rel="next"$/.exec(String(response.headers['link'] ?? ''))?.[1];
  }
  return pages;
}

const itemIds = (pages: unknown[], key: string): unknown[] => pages.flat().map((item) => (item as never)[key]);

test('no answer to a GET request is larger than 256 KiB, and all pages together are complete', async () => {
  await using running = await runBackend({ env: { AGENT_TOKEN: agentToken } });
  const { db, routes } = running.backend;
  const headers = bearer((await running.setUp()).accessToken);
  const deviceIds = ids(counts.devices);
  const { automations, rollouts } = await db.transaction().execute(async (transaction) => {
    await fillDevices(transaction, deviceIds);
    await fillPeople(transaction);
    return {
      automations: await fillAutomations(transaction, deviceIds[0]!),
      rollouts: await fillFirmware(transaction, deviceIds),
    };
  });
  const idOf = (url: string): string | undefined =>
    url.startsWith('/api/devices') ? deviceIds[0] : url.startsWith('/api/automations') ? automations[0] : rollouts[0];
  const queries: Record<string, string> = {
    '/api/devices/:id/history': '?capability=text&from=2026-01-01T00:00:00.000Z',
    '/api/activity': '?limit=200',
    '/api/devices/:id/events': '?limit=200',
    '/api/automations/:id/runs': '?limit=100',
  };
  const answers = new Map<string, unknown[]>();
  // The page of the documentation is no answer of data; the stream of events does not end.
  const others = /^\/api\/docs|^\/api\/openapi|^\/api\/system\/events|^\/ws|\*/;
  for (const { method, url, access } of routes) {
    if (![method].flat().includes('GET') || others.test(url)) continue;
    const path = url.replace(':id', idOf(url) ?? '') + (queries[url] ?? '');
    answers.set(url, await readAll(running, path, access === 'agent' ? bearer(agentToken) : headers));
  }
  assert.ok(answers.size > 25, `only ${answers.size} routes`);
  const list = (url: string): unknown[] => answers.get(url)?.flat() ?? [];
  assert.deepEqual(new Set(itemIds(list('/api/devices'), 'id')), new Set(deviceIds));
  assert.equal(list('/api/devices').length, counts.devices);
  assert.equal(list('/api/zones').length, counts.zones);
  assert.equal(list('/api/station/members').length, counts.members + 1);
  assert.equal(list('/api/unknown-devices').length, counts.unknown);
  assert.equal(new Set(itemIds(list('/api/automations'), 'id')).size, counts.automations);
  assert.equal(new Set(itemIds(list('/api/automations/:id/runs'), 'id')).size, counts.runs);
  assert.equal(new Set(itemIds(list('/api/devices/:id/events'), 'id')).size, counts.events);
  assert.equal(list('/api/firmware/rollouts').length, rollouts.length);
  const targets = (answers.get('/api/firmware/rollouts/:id') as { targets: unknown[] }[]).flatMap((one) => one.targets);
  assert.equal(new Set(itemIds(targets, 'deviceId')).size, counts.devices);
});

test('a cursor that is none is refused', async () => {
  await using running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  for (const after of [
    'x',
    Buffer.from('[1]').toString('base64url'),
    Buffer.from('["a\\u0000","b"]').toString('base64url'),
  ]) {
    const response = await running.http.inject({ url: `/api/devices?after=${after}`, headers });
    assert.equal(response.statusCode, 400, after);
  }
});
