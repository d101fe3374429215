import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { WebSocket } from 'ws';
import { isoTime, systemClock } from '@station/kit/clock';
import type { Device, DeviceEvent } from '@station/protocol/devices';
import type { Member, Session } from '@station/protocol/rest';
import { createDeviceStore } from '../store/device-store.ts';
import { bearer, runBackend } from '../../testing/running-backend.ts';
import { until } from '../../testing/until.ts';

// A household with a kitchen and a bedroom. Somebody may use the kitchen only: nothing of the rest reaches them, on any way.

const password = 'a long enough password';
type Headers = Record<string, string>;

async function household() {
  await using opening = new AsyncDisposableStack();
  const running = opening.use(await runBackend());
  const owner = bearer((await running.setUp()).accessToken);
  const call = async (
    headers: Headers,
    method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    url: string,
    payload?: object,
  ) => running.http.inject({ method, url, headers, ...(payload && { payload }) });
  const made = async <T>(url: string, payload: object): Promise<T> => {
    const answer = await call(owner, 'POST', url, payload);
    assert.equal(answer.statusCode, 201, answer.body);
    return answer.json<T>();
  };
  const zone = async (name: string): Promise<string> => (await made<{ id: string }>('/api/zones', { name })).id;
  const zones = { kitchen: await zone('Kitchen'), bedroom: await zone('Bedroom') };
  const { db } = running.backend;
  const store = createDeviceStore({ db, clock: systemClock });
  const device = async (name: string, zoneId: string | null): Promise<string> => {
    const { id } = await store.provision({ externalId: `${name}-0001`, type: 'light', name, zoneId });
    const { deviceEvents } = running.backend;
    deviceEvents.emit({ kind: 'added', deviceId: id, externalId: `${name}-0001` });
    const event = {
      device_id: id,
      kind: 'button',
      data: JSON.stringify({ action: `pressed at ${name}` }),
      at: Date.now(),
    };
    await db
      .insertInto('device_events')
      .values({ id: `${id.slice(0, -4)}0000`, ...event })
      .execute();
    await call(owner, 'PUT', '/api/favourites', { deviceIds: [id] });
    return id;
  };
  const ids = {
    kettle: await device('Kettle', zones.kitchen),
    safe: await device('Strongbox', zones.bedroom),
    gnome: await device('Gnome', null),
  };
  const command = (deviceId: string) => ({ deviceId, action: 'turn_on' });
  const scene = async (name: string, ...of: string[]): Promise<string> =>
    (await made<{ id: string }>('/api/scenes', { name, commands: of.map(command) })).id;
  const scenes = { tea: await scene('Tea', ids.kettle), heist: await scene('Heist', ids.kettle, ids.safe) };
  const watch = { kind: 'schedule', config: { time: '21:30' } };
  const flow = { nodes: [{ id: 't', type: 'trigger', data: watch }], edges: [] };
  const { id: automation } = await made<{ id: string }>('/api/automations', { name: 'Night watch', flow });
  const join = async (name: string, rights: object): Promise<{ userId: string; headers: Headers; token: string }> => {
    const account = { email: `${name}@example.org`, password };
    const { userId } = await made<Member>('/api/station/members', { ...account, name, ...rights });
    const login = await call({}, 'POST', '/api/auth/login', account);
    const { accessToken: token } = login.json<Session>();
    return { userId, token, headers: bearer(token) };
  };
  const opened = opening.move();
  return {
    running,
    owner,
    call,
    zones,
    ids,
    scenes,
    automation,
    join,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

type Household = Awaited<ReturnType<typeof household>>;

const rightsOf = {
  limited: ({ zones }: Household) => ({ role: 'limited', zoneIds: [zones.kitchen] }),
  guest: ({ zones }: Household) => ({
    role: 'guest',
    zoneIds: [zones.kitchen],
    endsAt: isoTime(Date.now() + 3_600_000),
  }),
};

for (const role of ['limited', 'guest'] as const) {
  test(`no route tells a ${role} member anything of devices in other zones`, async () => {
    await using all = await household();
    const { running, call, zones, ids, scenes, automation } = all;
    const { headers } = await all.join(role, rightsOf[role](all));
    const hidden = [
      ids.safe,
      ids.gnome,
      zones.bedroom,
      scenes.heist,
      'Strongbox',
      'Gnome',
      'Bedroom',
      'Heist',
      'Night watch',
      'olena',
    ];
    const reads = running.backend.routes.filter(({ method }) => [method].flat().includes('GET'));
    assert.ok(reads.length > 40, String(reads.length));
    let answered = 0;
    for (const { url } of reads) {
      // A log-in page shows the same to anyone; the reference of the API names no device.
      if (url === '/ws' || url.includes('*')) continue;
      for (const id of [ids.kettle, ids.safe, ids.gnome, zones.bedroom, scenes.heist, automation]) {
        const query = url.includes('/history') ? '?capability=on&from=2026-01-01T00:00:00.000Z' : '';
        const { statusCode, body } = await call(headers, 'GET', `${url.replace(/:\w+/, id)}${query}`);
        const told = `GET ${url} with ${id}: ${statusCode} ${body.slice(0, 300)}`;
        for (const secret of hidden) assert.equal(body.includes(secret), false, told);
        if (url.startsWith('/api/devices/:id') && id !== ids.kettle) assert.notEqual(statusCode, 200, told);
        if (statusCode === 200) answered++;
      }
    }
    assert.ok(answered > 30, String(answered));
    const devices = (await call(headers, 'GET', '/api/devices')).json<Device[]>();
    assert.deepEqual(
      devices.map(({ id }) => id),
      [ids.kettle],
    );
    const names = async (url: string) =>
      (await call(headers, 'GET', url)).json<{ name: string }[]>().map(({ name }) => name);
    assert.deepEqual([await names('/api/zones'), await names('/api/scenes')], [['Kitchen'], ['Tea']]);
    const snapshot = (await call(headers, 'GET', '/api/snapshot')).json<Record<string, unknown>>();
    assert.equal(Object.keys(snapshot).length, 6);
    for (const [key, part] of Object.entries(snapshot))
      assert.deepEqual(part, (await call(headers, 'GET', key.replace('GET ', ''))).json(), key);
    const station = (await call(headers, 'GET', '/api/station')).json<{ ownerId: unknown; place: unknown }>();
    assert.deepEqual([station.ownerId, station.place], [null, null]);
  });

  test(`a ${role} member commands devices and runs scenes of their zones only`, async () => {
    await using all = await household();
    const { call, ids, scenes } = all;
    const { headers } = await all.join(role, rightsOf[role](all));
    const light = { action: 'turn_on' };
    const send = async (id: string, body: object = light) =>
      (await call(headers, 'POST', `/api/devices/${id}/command`, body)).statusCode;
    assert.deepEqual(
      [
        await send(ids.kettle),
        await send(ids.safe),
        await send(ids.gnome),
        await send(ids.kettle, { action: 'reboot' }),
      ],
      [202, 404, 404, 403],
    );
    const run = async (id: string) => (await call(headers, 'POST', `/api/scenes/${id}/run`)).statusCode;
    assert.deepEqual([await run(scenes.tea), await run(scenes.heist)], [202, 404]);
    const wanted = { deviceIds: [ids.safe, ids.kettle, ids.gnome] };
    const kept = (await call(headers, 'PUT', '/api/favourites', wanted)).json<{ deviceIds: string[] }>();
    assert.deepEqual(kept.deviceIds, [ids.kettle]);
    const { db } = all.running.backend;
    const sent = await db.selectFrom('device_commands').select('device_id').distinct().execute();
    assert.deepEqual(
      sent.map((row) => row.device_id),
      [ids.kettle],
    );
  });
}

test('these routes are open to limited members and guests, and no others', async () => {
  await using running = await runBackend();
  const openTo = (rule: string): string[] =>
    running.backend.routes
      .filter(({ access }) => access === rule)
      .flatMap(({ method, url }) => [method].flat().map((one) => `${one} ${url}`))
      .filter((route) => !/^(HEAD|OPTIONS) /.test(route) && !/ \/api\/auth\//.test(route))
      .toSorted();
  assert.deepEqual(openTo('guest'), [
    'GET /api/device-types',
    'GET /api/devices',
    'GET /api/devices/:id',
    'GET /api/favourites',
    'GET /api/scenes',
    'GET /api/snapshot',
    'GET /api/station',
    'GET /api/zones',
    'POST /api/devices/:id/command',
    'POST /api/scenes/:id/run',
    'PUT /api/favourites',
  ]);
  assert.deepEqual(openTo('limited'), [
    'GET /api/activity',
    'GET /api/devices/:id/events',
    'GET /api/devices/:id/history',
    'GET /api/devices/:id/history.csv',
  ]);
});

test('a limited member has the history of their devices, a guest has none', async () => {
  await using all = await household();
  const { call, ids } = all;
  const limited = await all.join('limited', rightsOf.limited(all));
  const guest = await all.join('guest', rightsOf.guest(all));
  const activity = (await call(limited.headers, 'GET', '/api/activity')).json<{ deviceId: string }[]>();
  assert.deepEqual(
    activity.map(({ deviceId }) => deviceId),
    [ids.kettle],
  );
  const query = '?capability=on&from=2026-01-01T00:00:00.000Z';
  for (const url of ['/events', `/history${query}`, `/history.csv${query}`].map(
    (end) => `/api/devices/${ids.kettle}${end}`,
  )) {
    assert.equal((await call(limited.headers, 'GET', url)).statusCode, 200, url);
    assert.equal((await call(guest.headers, 'GET', url)).statusCode, 403, url);
  }
  assert.equal((await call(guest.headers, 'GET', '/api/activity')).statusCode, 403);
});

test('a limited member sees what was done to their devices, and who did it only when it was they', async () => {
  await using all = await household();
  const { call, ids, owner } = all;
  const limited = await all.join('limited', rightsOf.limited(all));
  await all.running.backend.db.updateTable('devices').set({ status: 'online' }).execute();
  const power = { action: 'turn_on' };
  for (const [headers, id] of [
    [owner, ids.safe],
    [owner, ids.kettle],
    [limited.headers, ids.kettle],
  ] as const)
    assert.equal((await call(headers, 'POST', `/api/devices/${id}/command`, power)).statusCode, 202);
  const read = async (query: string) =>
    (await call(limited.headers, 'GET', `/api/activity?${query}`)).json<DeviceEvent[]>();
  assert.deepEqual(
    (await read('')).map(({ kind, deviceId, by }) => [kind, deviceId, by?.name]),
    [
      ['command', ids.kettle, 'limited'],
      ['command', ids.kettle, undefined],
      ['button', ids.kettle, undefined],
    ],
  );
  const { id: ownerId } = await all.running.backend.db
    .selectFrom('users')
    .select('id')
    .where('role', '=', 'owner')
    .executeTakeFirstOrThrow();
  for (const query of [`userId=${ownerId}`, `deviceId=${ids.safe}`, 'about=station', 'about=automations'])
    assert.deepEqual(await read(query), [], query);
  const ofPeople = await read('about=people');
  assert.deepEqual(
    ofPeople.map(({ by }) => by?.name),
    ['limited'],
    'not even that another one was done by a person',
  );
});

async function connect({ running }: Household, token: string) {
  const socket = new WebSocket(`${running.backend.url.replace('http', 'ws')}/ws`);
  const texts: string[] = [];
  const closed = new Promise<number>((resolve) => socket.on('close', resolve));
  socket.on('message', (data: Buffer) => texts.push(data.toString('utf8')));
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'auth', token }));
  await until('it is logged in', () => texts.length > 0);
  const told = (): string[] =>
    texts
      .map((text) => JSON.parse(text) as { type: string; deviceId?: string })
      .map(({ type, deviceId }) => `${type} ${deviceId ?? ''}`);
  return { socket, texts, told, closed };
}

test('the WebSocket of somebody with one zone follows a device that comes and goes, and nothing else', async () => {
  await using all = await household();
  const { running, owner, call, zones, ids } = all;
  const { token, headers } = await all.join('guest', rightsOf.guest(all));
  const { told, texts, socket } = await connect(all, token);
  const status = (deviceId: string): void =>
    running.backend.deviceEvents.emit({ kind: 'status', deviceId, status: 'online', at: Date.now() });
  for (const id of [ids.safe, ids.gnome, ids.kettle]) status(id);
  await until('the kettle is online', () => told().includes(`device_status ${ids.kettle}`));
  await call(owner, 'POST', `/api/devices/${ids.safe}/command`, { action: 'turn_on' });
  await call(owner, 'PATCH', `/api/devices/${ids.gnome}`, { name: 'Garden gnome' });
  await call(owner, 'PATCH', `/api/devices/${ids.safe}`, { zoneId: zones.kitchen });
  await until('the safe is in the kitchen', () => told().includes(`device_changed ${ids.safe}`));
  assert.equal((await call(headers, 'GET', `/api/devices/${ids.safe}`)).statusCode, 200);
  status(ids.safe);
  await until('the safe is online', () => told().includes(`device_status ${ids.safe}`));
  await call(owner, 'PATCH', `/api/devices/${ids.safe}`, { zoneId: null });
  await until('the safe is gone', () => told().includes(`device_removed ${ids.safe}`));
  assert.equal((await call(headers, 'GET', `/api/devices/${ids.safe}`)).statusCode, 404);
  const before = told().filter((line) => line.endsWith(ids.safe)).length;
  status(ids.safe);
  await call(owner, 'DELETE', `/api/devices/${ids.gnome}`);
  await call(owner, 'DELETE', `/api/devices/${ids.kettle}`);
  await until('the kettle is removed', () => told().includes(`device_removed ${ids.kettle}`));
  assert.equal(told().filter((line) => line.endsWith(ids.safe)).length, before);
  assert.equal(
    texts.some((text) => text.includes(ids.gnome)),
    false,
  );
  socket.terminate();
});

test('other zones, another role and a removed zone end the connection; the next one has the new rights', async () => {
  await using all = await household();
  const { owner, call, zones, ids } = all;
  const { userId, token } = await all.join('taras', rightsOf.limited(all));
  const account = { email: 'taras@example.org', password };
  const again = async (): Promise<string> =>
    (await call({}, 'POST', '/api/auth/login', account)).json<Session>().accessToken;
  const seen = async (token: string): Promise<string[]> =>
    (await call(bearer(token), 'GET', '/api/devices')).json<Device[]>().map(({ id }) => id);
  const member = `/api/station/members/${userId}`;
  const steps: [name: string, () => Promise<{ statusCode: number; body: string }>, string[]][] = [
    [
      'the bedroom instead',
      () => call(owner, 'PATCH', member, { role: 'limited', zoneIds: [zones.bedroom] }),
      [ids.safe],
    ],
    ['the bedroom is removed', () => call(owner, 'DELETE', `/api/zones/${zones.bedroom}`), []],
    ['the whole station', () => call(owner, 'PATCH', member, { role: 'member' }), [ids.gnome, ids.kettle, ids.safe]],
    ['a guest in the kitchen', () => call(owner, 'PATCH', member, rightsOf.guest(all)), [ids.kettle]],
  ];
  let present = token;
  for (const [name, change, expected] of steps) {
    const { closed } = await connect(all, present);
    const { statusCode, body } = await change();
    assert.ok(statusCode < 300, body);
    assert.equal(await closed, 4401, name);
    assert.equal((await call(bearer(present), 'GET', '/api/devices')).statusCode, 401, name);
    present = await again();
    assert.deepEqual((await seen(present)).toSorted(), expected.toSorted(), name);
  }
});

test('zones and an end belong to their roles, and an admin decides about everybody below', async () => {
  await using all = await household();
  const { owner, call, zones } = all;
  const { headers: admin, userId: adminId } = await all.join('andrii', { role: 'admin' });
  const { userId } = await all.join('maria', { role: 'member' });
  const change = async (headers: Headers, id: string, rights: object): Promise<number> =>
    (await call(headers, 'PATCH', `/api/station/members/${id}`, rights)).statusCode;
  const zoneIds = [zones.kitchen];
  const endsAt = isoTime(Date.now() + 60_000);
  for (const wrong of [
    { role: 'limited' },
    { role: 'limited', zoneIds: [] },
    { role: 'limited', zoneIds, endsAt },
    { role: 'limited', zoneIds: ['01890000-0000-7000-8000-000000000000'] },
    { role: 'member', zoneIds },
    { role: 'guest', zoneIds },
    { role: 'guest', endsAt },
    { role: 'guest', zoneIds, endsAt: isoTime(Date.now() - 1) },
    { role: 'guest', zoneIds, endsAt: 'tonight' },
  ]) {
    assert.equal(await change(owner, userId, wrong), 400, JSON.stringify(wrong));
  }
  assert.equal(await change(admin, userId, { role: 'guest', zoneIds, endsAt }), 200);
  const shown = (await call(admin, 'GET', '/api/station/members')).json<Member[]>();
  const maria = shown.find((one) => one.userId === userId);
  assert.deepEqual([maria?.role, maria?.zoneIds, maria?.endsAt], ['guest', zoneIds, endsAt]);
  assert.equal(await change(admin, userId, { role: 'admin' }), 403);
  assert.equal(await change(admin, adminId, { role: 'member' }), 403);
  assert.equal(await change(owner, adminId, { role: 'limited', zoneIds }), 200);
});
