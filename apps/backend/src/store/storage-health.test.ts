import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Device } from '@station/protocol/devices';
import type { BackendConditions } from '@station/protocol/backend-conditions';
import type { BackendHealth } from '@station/protocol/rest';
import type { Static } from 'typebox';
import { bearer, owner, runBackend } from '../../testing/running-backend.ts';
import { addDevice, connectDevice } from '../../testing/test-device.ts';
import { testOnSqlite } from '../../testing/test-postgres.ts';
import { until } from '../../testing/until.ts';

type Running = Awaited<ReturnType<typeof runBackend>>;

/** SQLite then answers as on a full disk: SQLITE_FULL. */
async function fill({ backend: { db } }: Running): Promise<void> {
  const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db);
  await sql`pragma max_page_count = ${sql.lit(rows[0]!.page_count)}`.execute(db);
}
const makeRoom = ({ backend: { db } }: Running) => sql`pragma max_page_count = 4294967294`.execute(db);

const health = async ({ http }: Running) => (await http.inject('/api/health')).json<BackendHealth>();

testOnSqlite(
  'a full disk: health names it, reads work, states wait without an acknowledgement and are all on disk afterwards',
  async () => {
    await using running = await runBackend();
    const { http, logger } = running;
    const { accessToken } = await running.setUp();
    const headers = bearer(accessToken);
    const login = await addDevice(running.backend.db, 'lamp-1');
    await using lamp = await connectDevice(running.backend.mqttAddress ?? '', login);
    await lamp.publish('state', { state: { n: 0 } });
    await fill(running);
    const text = 'x'.repeat(10_000);
    let acknowledged = 0;
    const published = Array.from({ length: 5 }, (_, n) =>
      lamp.publish('state', { state: { n, [`text${n}`]: text } }).then(() => (acknowledged += 1)),
    );
    await until('health to fail', async () => (await health(running)).status === 'failing');
    const body = await health(running);
    assert.deepEqual([body.checks, body.reasons], [{ database: false, mqtt: true }, { database: 'disk full' }]);
    assert.equal((await http.inject({ url: '/api/devices', headers })).statusCode, 200);
    const conditions = await http.inject({ url: '/api/conditions', headers });
    const shown = conditions.json<Static<typeof BackendConditions>>();
    assert.deepEqual(
      shown.map(({ id, details }) => [id, details]),
      [['storage_full', { reason: 'disk full' }]],
    );
    const refused = await http.inject({
      method: 'POST',
      url: '/api/zones',
      headers,
      payload: { name: 'A'.repeat(100) },
    });
    // A small row may still fit into a page that the file has.
    assert.ok(refused.statusCode === 201 || refused.json<{ code: string }>().code === 'storage_full', refused.body);
    // Longer than the calm time: a small write that succeeds in between ends nothing.
    await sleep(3_500);
    assert.equal((await health(running)).reasons?.database, 'disk full');
    assert.equal(acknowledged, 0);
    await makeRoom(running);
    await Promise.all(published);
    const [device] = (await http.inject({ url: '/api/devices', headers })).json<Device[]>();
    assert.deepEqual(Object.keys(device?.state ?? {}).sort(), ['n', 'text0', 'text1', 'text2', 'text3', 'text4']);
    await until('health to be good', async () => (await health(running)).status === 'ok');
    await until('the condition to end', () => logger.events('condition_cleared').length > 0);
    const raised = logger.events('condition_raised').map(({ condition }) => condition);
    const cleared = logger.events('condition_cleared').map(({ condition }) => condition);
    assert.deepEqual([raised, cleared], [['storage_full'], ['storage_full']]);
    assert.deepEqual(logger.events('unexpected_error'), []);
    const { email, password } = owner;
    const session = await http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
    assert.equal(session.statusCode, 200);
  },
);

testOnSqlite('a database that became read-only is found by a health check alone', async () => {
  await using running = await runBackend();
  await running.setUp();
  await sql`pragma query_only = on`.execute(running.backend.db);
  await until('the fault', async () => (await health(running)).reasons?.database === 'read-only');
  const { email, password } = owner;
  const response = await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
  assert.deepEqual([response.statusCode, response.json<{ code: string }>().code], [503, 'storage_unwritable']);
  await sql`pragma query_only = off`.execute(running.backend.db);
  await until('health to be good', async () => (await health(running)).status === 'ok');
});
