import assert from 'node:assert/strict';
import { randomUUIDv7 } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import type { Session } from '@station/protocol/rest';
import { snapshotKeys } from '@station/protocol/snapshot';
import { createDeviceStore } from '../store/device-store.ts';
import type { Database } from '../store/schema.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { simulateAgent } from '../../testing/simulated-agent.ts';

/** A station with two devices, a zone, a favourite and a scene, and its agent. */
async function station() {
  await using opening = new AsyncDisposableStack();
  const agent = opening.use(await simulateAgent());
  agent.answer('/status', 200, { currentVersion: '1.1.0', conditions: [] });
  const running = opening.use(await runBackend({ env: { AGENT_URL: agent.url } }));
  const headers = bearer((await running.setUp()).accessToken);
  const ask = async (method: 'GET' | 'POST' | 'PUT', url: string, payload?: object, as = headers) =>
    running.http.inject({ method, url, headers: as, ...(payload && { payload }) });
  const zoneId = (await ask('POST', '/api/zones', { name: 'Kitchen' })).json<{ id: string }>().id;
  const { db } = running.backend;
  const store = createDeviceStore({ db, clock: systemClock });
  const provision = (name: string) => store.provision({ externalId: name, type: 'light', name, zoneId });
  const [{ id: deviceId }] = await Promise.all([provision('kettle-0001'), provision('lamp-0002')]);
  await ask('PUT', '/api/favourites', { deviceIds: [deviceId] });
  await ask('POST', '/api/scenes', { name: 'Tea', commands: [{ deviceId, action: 'turn_on' }] });
  const snapshot = async (as = headers): Promise<Record<string, unknown>> => {
    const answer = await ask('GET', '/api/snapshot', undefined, as);
    assert.equal(answer.statusCode, 200, answer.body);
    return answer.json();
  };
  const opened = opening.move();
  return { running, agent, ask, headers, snapshot, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

const pathOf = (key: string): string => key.replace('GET ', '');
/** Times of the answer itself. */
const withoutTimes = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer), (key, value: unknown) => (key === 'askedAt' ? null : value));

/** Each of about 330 bytes. */
async function addZones(db: Database, count: number): Promise<void> {
  for (let n = 0; n < count; n += 1) {
    const zone = { id: randomUUIDv7(), name: `${n} ${'猫'.repeat(90)}`, created_at: n, position: null };
    await db.insertInto('zones').values(zone).execute();
  }
}

test('a snapshot has what its routes answer', async () => {
  await using all = await station();
  const snapshot = await all.snapshot();
  assert.deepEqual(Object.keys(snapshot).toSorted(), snapshotKeys.toSorted());
  for (const key of snapshotKeys) {
    const answer = await all.ask('GET', pathOf(key));
    assert.equal(answer.statusCode, 200, answer.body);
    assert.deepEqual(withoutTimes(snapshot[key]), withoutTimes(answer.json()), key);
  }
  assert.equal((snapshot['GET /api/devices'] as unknown[]).length, 2);
});

test('a route that a member may not use is left out, and not asked', async () => {
  await using all = await station();
  const login = { email: 'member@example.org', password: 'a long enough password' };
  await all.ask('POST', '/api/station/members', { ...login, name: 'Member', role: 'member' });
  const { accessToken } = (await all.ask('POST', '/api/auth/login', login)).json<Session>();
  const snapshot = await all.snapshot(bearer(accessToken));
  const forAdmins = ['GET /api/unknown-devices', 'GET /api/devices/wifi'];
  assert.deepEqual(
    snapshotKeys.filter((key) => !(key in snapshot)),
    forAdmins,
  );
  const requests = all.running.logger.events('request');
  assert.equal(
    requests.some(({ statusCode }) => statusCode === 403),
    false,
  );
});

test('an agent that fails or does not answer delays a snapshot by a second at most', async () => {
  await using all = await station();
  all.agent.answer('/status', 500, {});
  assert.equal('GET /api/system/status' in (await all.snapshot()), false);
  all.agent.hang('/status');
  const snapshot = await all.snapshot();
  assert.equal('GET /api/system/status' in snapshot, false);
  assert.equal('GET /api/devices' in snapshot, true);
});

test('a list of several pages is left out', async () => {
  await using all = await station();
  await addZones(all.running.backend.db, 900);
  const snapshot = await all.snapshot();
  assert.equal('GET /api/zones' in snapshot, false);
  assert.equal('GET /api/devices' in snapshot, true);
});

test('what does not fit into 256 KiB beside the others is left out', async () => {
  await using all = await station();
  const { db } = all.running.backend;
  const store = createDeviceStore({ db, clock: systemClock });
  for (let n = 0; n < 20; n += 1)
    await store.provision({ externalId: `more-${n}`, type: 'light', name: `More ${n}`, zoneId: null });
  await db
    .updateTable('devices')
    .set({ state: JSON.stringify({ text: 'x'.repeat(8_000) }) })
    .execute();
  await addZones(db, 550);
  const answer = await all.ask('GET', '/api/snapshot');
  assert.ok(answer.rawPayload.length <= 256 * 1024, String(answer.rawPayload.length));
  const snapshot = answer.json<Record<string, unknown>>();
  assert.equal('GET /api/devices' in snapshot, true);
  assert.equal('GET /api/zones' in snapshot, false);
});

test('a token that does not count gets no snapshot', async () => {
  await using all = await station();
  assert.equal((await all.ask('GET', '/api/snapshot', undefined, bearer('no.such.token'))).statusCode, 401);
});
