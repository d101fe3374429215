import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { sql } from 'kysely';
import { systemClock } from '@station/kit/clock';
import type { DeviceHistory } from '@station/protocol/device-history';
import { createEventIds } from '../core/event-ids.ts';
import { createDeviceStore } from '../store/device-store.ts';
import { writeReports } from '../history/report-store.ts';
import { bearer, post, runBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';
import { postgresUrl } from '../../testing/test-postgres.ts';

const nobody = '01890000-0000-7000-8000-000000000000';
const minute = 60_000;
const iso = (at: number): string => new Date(at).toISOString();

async function withDevice() {
  const running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const store = { db: running.backend.db, kind: postgresUrl === null ? ('sqlite' as const) : ('postgres' as const) };
  const devices = createDeviceStore({ db: store.db, clock: systemClock });
  const { id } = await devices.provision({ externalId: 'hall/1', type: 'climate', name: 'Hall', zoneId: null });
  const newId = createEventIds(Date.now);
  const report = (at: number, state: Record<string, unknown>) =>
    writeReports(store, [{ kind: 'state', deviceId: id, at, state }], newId);
  const status = (at: number, value: 'online' | 'offline') =>
    writeReports(store, [{ kind: 'status', deviceId: id, at, status: value }], newId);
  const get = (path: string, query: Record<string, string>, deviceId = id) =>
    running.http.inject({ method: 'GET', url: `/api/devices/${deviceId}/${path}`, query, headers });
  return { running, headers, id, get, report, status, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() };
}

test('the history of a number says its resolution, and averages intervals since the epoch', async () => {
  await using all = await withDevice();
  const start = Math.floor(Date.now() / minute) * minute - 10 * minute;
  for (const [ms, value] of [
    [0, 20],
    [1_000, 22],
    [12_000, 25],
  ] as const)
    await all.report(start + ms, { t: value });
  const response = await all.get('history', { capability: 't', from: iso(start - 1), to: iso(start + minute) });
  assert.deepEqual(response.json<DeviceHistory>(), {
    kind: 'number',
    from: iso(start - 10_000),
    to: iso(start + minute),
    resolutionMs: 10_000,
    gaps: [],
    points: [
      { at: iso(start), value: 21, lowest: 20, highest: 22, count: 2 },
      { at: iso(start + 10_000), value: 25, lowest: 25, highest: 25, count: 1 },
    ],
  });
  const coarser = await all.get('history', { capability: 't', from: iso(start), resolution: '50000' });
  assert.equal(coarser.json<DeviceHistory>().resolutionMs, minute);
  for (const query of [
    { from: 'x', capability: 't' },
    { from: iso(start) },
    { from: iso(start), to: '2001-01-01', capability: 't' },
    { from: iso(start), capability: 't', resolution: '0' },
    { from: iso(start), capability: 't', resolution: '1.5' },
    { from: iso(start), capability: 't', resolution: '' },
  ]) {
    assert.equal((await all.get('history', query)).statusCode, 400, JSON.stringify(query));
  }
  assert.equal((await all.get('history', { capability: 't', from: iso(start) }, nobody)).statusCode, 404);
});

test('a time is one of ISO 8601, and a range begins in the past', async () => {
  await using all = await withDevice();
  await all.report(Date.now() - minute, { t: 20 });
  const ask = async (from: string, to?: string) => {
    const answer = await all.get('history', { capability: 't', from, ...(to === undefined ? {} : { to }) });
    return answer.statusCode === 200
      ? answer.json<DeviceHistory>().points.length
      : answer.json<{ message: string }>().message;
  };
  const year = (add: number): string => String(new Date().getUTCFullYear() + add);
  for (const from of [`${year(-1)}-01-31`, `${year(-1)}-01-31T00:00:00`, `${year(-1)}-01-31T00:00:00+02:00`])
    assert.equal(await ask(from), 1, from);
  for (const from of ['0', `${year(-1)}-02-30T00:00:00Z`, 'Jan 1 2020', '1796000000000', 'now'])
    assert.equal(await ask(from), '"from" must be a time such as 2026-03-29T01:00:00Z.', from);
  assert.equal(await ask(`${year(-1)}-01-31`, 'x'), '"to" must be a time such as 2026-03-29T01:00:00Z.');
  assert.equal(await ask(`${year(1)}-01-01`, `${year(2)}-01-01`), '"from" is in the future.');
  assert.equal(await ask(`${year(1)}-01-01`), '"from" is in the future.');
  assert.equal(await ask(`${year(-1)}-01-01`, `${year(-1)}-01-01`), '"from" must be earlier than "to".');
  assert.equal(await ask(`${year(-1)}-01-01`, `${year(2)}-01-01`), 1);
});

test('a boolean has its transitions, and the time offline is a gap', async () => {
  await using all = await withDevice();
  const start = Math.floor(Date.now() / minute) * minute - 10 * minute;
  await all.status(start, 'online');
  await all.report(start, { on: false, mode: 'auto' });
  await all.report(start + 5_000, { on: false });
  await all.report(start + 61_000, { on: true });
  await all.status(start + 2 * minute, 'offline');
  await all.status(start + 3 * minute, 'online');
  const read = async (capability: string, from: number) =>
    (await all.get('history', { capability, from: iso(from) })).json<DeviceHistory>();
  const history = await read('on', start - minute);
  assert.equal(history.kind, 'transitions');
  assert.deepEqual(history.points, [
    { at: iso(start), value: false },
    { at: iso(start + 61_000), value: true },
  ]);
  assert.deepEqual(history.gaps, [{ from: iso(start + 2 * minute), to: iso(start + 3 * minute) }]);
  const later = await read('on', start + 4 * minute);
  assert.deepEqual(later.points, [{ at: iso(start + 4 * minute), value: true, changes: 0 }]);
  assert.deepEqual((await read('mode', start)).points, [{ at: iso(start), value: 'auto' }]);
});

test('the export is CSV that no spreadsheet takes for a formula', async () => {
  await using all = await withDevice();
  const start = Date.now() - 10 * minute;
  await all.report(start, { t: -1.5, text: '=1+1' });
  await all.report(start + 1_000, { t: 2, text: 'a "b", c' });
  await all.report(start + 2_000, { text: 'a;=1+1' });
  const csv = async (capability: string) => {
    const response = await all.get('history.csv', { capability, from: iso(start - minute) });
    assert.match(String(response.headers['content-type']), /^text\/csv/);
    assert.equal(response.headers['content-disposition'], `attachment; filename="hall_1-${capability}.csv"`);
    return response.body.split('\r\n');
  };
  assert.deepEqual(await csv('t'), [
    'time,value,lowest,highest,count',
    `${iso(start)},-1.5,-1.5,-1.5,1`,
    `${iso(start + 1_000)},2,2,2,1`,
    '',
  ]);
  assert.deepEqual(await csv('text'), [
    'time,value,share,changes,seconds',
    `${iso(start)},'=1+1,,1,`,
    `${iso(start + 1_000)},"a ""b"", c",,1,`,
    `${iso(start + 2_000)},"a;'=1+1",,1,`,
    '',
  ]);
});

test('sixty exports that a member does not read keep nobody else from one', async () => {
  await using all = await withDevice();
  const { running, headers, id } = all;
  const start = Date.now() - 60 * minute;
  // More than the buffers of a connection take.
  await sql`
    insert into device_transitions (device_id, capability, at, value)
    select ${id}, 'open', cast(${start} as bigint) + i, 'true'
    from (with recursive counted(i) as (select 0 union all select i + 1 from counted where i < 300000)
      select i from counted) as numbers`.execute(running.backend.db);
  const account = { email: 'member@example.org', password: 'a password of a member' };
  await post(running, '/api/station/members', { ...account, name: 'Member', role: 'member' }, headers);
  const { accessToken } = (await post(running, '/api/auth/login', account)).json<{ accessToken: string }>();
  const path = `/api/devices/${id}/history.csv?capability=open&from=${iso(start - 1)}`;
  const sockets = Array.from({ length: 60 }, () => {
    const socket = connect(Number(new URL(running.backend.url).port), '127.0.0.1');
    socket.on('error', () => undefined);
    socket.pause();
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${accessToken}\r\n\r\n`);
    return socket;
  });
  const { logger } = running;
  await until('the exports are asked for', () => logger.events('request').some((event) => event['statusCode'] === 503));
  const exported = await fetch(`${running.backend.url}${path}`, { headers });
  assert.equal(exported.status, 200);
  assert.equal((await exported.text()).split('\r\n').length, 300_003);
  for (const socket of sockets) socket.destroy();
});
