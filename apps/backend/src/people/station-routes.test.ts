import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AddedMember, MadePassword, Member, Session, Station } from '@station/protocol/rest';
import { bearer, owner, runBackend, type RunningBackend } from '../../testing/running-backend.ts';

const password = 'a long enough password';

async function setUp(running: RunningBackend) {
  const session = await running.setUp();
  const headers = bearer(session.accessToken);
  const call = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object, as = headers) =>
    running.http.inject({ method, url, headers: as, ...(payload === undefined ? {} : { payload }) });
  const logIn = async (email: string): Promise<Record<string, string>> => {
    const response = await call('POST', '/api/auth/login', { email, password }, {});
    return bearer(response.json<Session>().accessToken);
  };
  const add = async (name: string, role: string): Promise<Member> =>
    (await call('POST', '/api/station/members', { email: `${name}@example.org`, name, password, role })).json<Member>();
  return { call, logIn, add, ownerId: session.user.id };
}

test('the owner names the station and its time zone', async () => {
  const stationId = '0198c5c4-0000-7000-8000-00000000abcd';
  await using running = await runBackend({ env: { STATION_ID: stationId, STATION_VERSION: '2.5.0' } });
  const { call, ownerId } = await setUp(running);
  const changed = await call('PATCH', '/api/station', { name: ' Cabin ', timeZone: 'America/New_York' });
  assert.deepEqual(changed.json(), {
    id: stationId,
    name: 'Cabin',
    timeZone: 'America/New_York',
    place: null,
    ownerId,
    version: '2.5.0',
  });
  assert.equal((await call('PATCH', '/api/station', { timeZone: 'Moon/Base' })).statusCode, 400);
  assert.equal((await call('PATCH', '/api/station', {})).statusCode, 400);
  assert.deepEqual((await call('GET', '/api/station')).json(), changed.json());
});

test('only names are time zones, old ones too; an offset is none', async () => {
  await using running = await runBackend();
  const { call } = await setUp(running);
  const answers = async (timeZone: string) => (await call('PATCH', '/api/station', { timeZone })).statusCode;
  for (const zone of ['Europe/Kiev', 'Asia/Calcutta', 'EST5EDT', 'UTC']) assert.equal(await answers(zone), 200, zone);
  for (const offset of ['+02:00', '-0330', '+02']) assert.equal(await answers(offset), 400, offset);
});

test('an address with blanks around it is the same; one with characters that nobody sees is refused', async () => {
  await using running = await runBackend();
  const { call, add } = await setUp(running);
  const created = (email: string) =>
    call('POST', '/api/station/members', { email, name: 'Taras', password: 'correct horse 9', role: 'member' });
  for (const hidden of ['taras\u200b@example.org', '\u202ataras@example.org\u202c', 'taras\u0007@example.org'])
    assert.equal((await created(hidden)).statusCode, 400, JSON.stringify(hidden));
  assert.equal((await created(' Taras@Example.org ')).json<Member>().email, 'taras@example.org');
  assert.equal((await created('taras@example.org\t')).statusCode, 409);
  const login = { email: 'taras@example.org ', password: 'correct horse 9' };
  assert.equal((await call('POST', '/api/auth/login', login, {})).statusCode, 200);
  assert.equal((await add('olha', 'member')).email, 'olha@example.org');
});

test('an address is one address in composed and in decomposed letters, also when it was kept decomposed', async () => {
  await using running = await runBackend();
  const { call } = await setUp(running);
  const composed = 'jürgen@münchen.example';
  const decomposed = composed.normalize('NFD');
  const created = (email: string) =>
    call('POST', '/api/station/members', { email, name: 'Jürgen', password, role: 'member' });
  const logIn = async (email: string) => (await call('POST', '/api/auth/login', { email, password }, {})).statusCode;
  assert.equal((await created(decomposed)).json<Member>().email, composed);
  for (const email of [composed, decomposed]) {
    assert.equal((await created(email)).statusCode, 409);
    assert.equal(await logIn(email), 200);
  }
  const users = running.backend.db.updateTable('users');
  await users.set({ email: decomposed }).where('email', '=', composed).execute();
  for (const email of [composed, decomposed, decomposed.toUpperCase()]) {
    assert.equal((await created(email)).statusCode, 409);
    assert.equal(await logIn(email), 200);
  }
});

test('the owner sets the place of the station, and takes it back', async () => {
  await using running = await runBackend();
  const { call } = await setUp(running);
  const placed = async (place: object | null) => (await call('PATCH', '/api/station', { place })).json<Station>().place;
  assert.deepEqual(await placed({ latitude: 50.45, longitude: 30.52 }), { latitude: 50.45, longitude: 30.52 });
  assert.equal((await call('PATCH', '/api/station', { place: { latitude: 91, longitude: 0 } })).statusCode, 400);
  assert.equal((await call('PATCH', '/api/station', { place: { latitude: 1 } })).statusCode, 400);
  assert.equal((await call('PATCH', '/api/station', { name: 'Cabin' })).json<Station>().place?.latitude, 50.45);
  assert.equal(await placed(null), null);
});

test('a member added without a password gets a generated one, shown once; a forgotten one is replaced', async () => {
  await using running = await runBackend();
  const { call, add, ownerId } = await setUp(running);
  const made = (
    await call('POST', '/api/station/members', { email: 'olha@example.org', name: 'Olha', role: 'member' })
  ).json<AddedMember>();
  const first = made.firstPassword ?? '';
  assert.match(first, /^([B-Z2-9]{4}-){3}[B-Z2-9]{4}$/);
  const enter = async (given: string): Promise<{ status: number; as: Record<string, string> }> => {
    const answer = await call('POST', '/api/auth/login', { email: 'olha@example.org', password: given }, {});
    return { status: answer.statusCode, as: bearer(answer.json<Session>().accessToken) };
  };
  const inside = await enter(first);
  assert.equal(inside.status, 200);

  const again = await call('POST', `/api/station/members/${made.userId}/password`);
  assert.equal(again.statusCode, 200);
  assert.equal(again.headers['cache-control'], 'no-store');
  assert.equal((await enter(first)).status, 401);
  assert.equal((await call('GET', '/api/auth/me', undefined, inside.as)).statusCode, 401, 'nobody stays logged in');
  assert.equal((await enter(again.json<MadePassword>().password)).status, 200);
  assert.ok(!running.logger.lines.some((line) => line.includes(first)));

  const adam = await add('adam', 'admin');
  const berta = await add('berta', 'admin');
  const login = await call('POST', '/api/auth/login', { email: 'adam@example.org', password }, {});
  const asAdam = bearer(login.json<Session>().accessToken);
  const refusals = [ownerId, berta.userId, '0198c5c4-0000-7000-8000-00000000abcd'].map(async (id) => {
    const answer = await call('POST', `/api/station/members/${id}/password`, undefined, asAdam);
    return answer.json<{ code: string }>().code;
  });
  assert.deepEqual(await Promise.all(refusals), ['conflict', 'forbidden', 'not_found']);
  assert.equal((await call('POST', `/api/station/members/${adam.userId}/password`)).statusCode, 200);
});

test('members are added, changed and removed; the owner cannot be', async () => {
  await using running = await runBackend();
  const { call, add, logIn, ownerId } = await setUp(running);
  const member = await add('maria', 'member');
  await add('adam', 'admin');
  const list = (await call('GET', '/api/station/members')).json<Member[]>();
  assert.deepEqual(
    list.map(({ name, role }) => `${name} ${role}`),
    [`${owner.name} owner`, 'adam admin', 'maria member'],
  );

  const twice = await call('POST', '/api/station/members', {
    email: 'MARIA@example.org',
    name: 'x',
    password,
    role: 'member',
  });
  assert.equal(twice.statusCode, 409);
  const crown = await call('POST', '/api/station/members', {
    email: 'new@example.org',
    name: 'x',
    password,
    role: 'owner',
  });
  assert.equal(crown.statusCode, 400);

  const promoted = await call('PATCH', `/api/station/members/${member.userId}`, { role: 'admin' });
  assert.equal(promoted.json().role, 'admin');
  const asMaria = await logIn('maria@example.org');
  assert.equal((await call('PATCH', '/api/station', { name: 'Ours' }, asMaria)).statusCode, 200);

  assert.equal((await call('PATCH', `/api/station/members/${ownerId}`, { role: 'member' })).statusCode, 409);
  assert.equal((await call('DELETE', `/api/station/members/${ownerId}`)).statusCode, 409);
  assert.equal((await call('DELETE', `/api/station/members/${member.userId}`)).statusCode, 204);
  assert.equal((await call('DELETE', `/api/station/members/${member.userId}`)).statusCode, 404);
});

test('only the owner makes someone an admin, also a new member', async () => {
  await using running = await runBackend();
  const { call, add, logIn } = await setUp(running);
  await add('eva', 'admin');
  const asEva = await logIn('eva@example.org');
  const addAs = (name: string, role: string) =>
    call('POST', '/api/station/members', { email: `${name}@example.org`, name, password, role }, asEva);
  const refused = await addAs('adam', 'admin');
  assert.equal(refused.statusCode, 403);
  assert.equal(refused.json().code, 'forbidden');
  assert.equal((await addAs('maria', 'member')).statusCode, 201);
  const list = (await call('GET', '/api/station/members')).json<Member[]>();
  assert.deepEqual(
    list.map(({ name }) => name),
    [owner.name, 'eva', 'maria'],
  );
});

test('an admin can remove members but not admins, and cannot change roles', async () => {
  await using running = await runBackend();
  const { call, add, logIn } = await setUp(running);
  const member = await add('maria', 'member');
  const admin = await add('adam', 'admin');
  await add('eva', 'admin');
  const asEva = await logIn('eva@example.org');
  assert.equal((await call('DELETE', `/api/station/members/${admin.userId}`, undefined, asEva)).statusCode, 403);
  assert.equal(
    (await call('PATCH', `/api/station/members/${member.userId}`, { role: 'admin' }, asEva)).statusCode,
    403,
  );
  assert.equal((await call('DELETE', `/api/station/members/${member.userId}`, undefined, asEva)).statusCode, 204);
});

test('a change of role ends the tokens with the old role, and the next log-in has the new one', async () => {
  await using running = await runBackend();
  const { call, add, logIn } = await setUp(running);
  const admin = await add('adam', 'admin');
  const asAdmin = await logIn('adam@example.org');
  assert.equal(
    (await call('POST', '/api/system/check', undefined, asAdmin)).statusCode,
    502,
    'allowed; there is no agent',
  );
  await call('PATCH', `/api/station/members/${admin.userId}`, { role: 'member' });
  assert.equal((await call('POST', '/api/system/check', undefined, asAdmin)).statusCode, 401);
  const asMember = await logIn('adam@example.org');
  assert.equal((await call('POST', '/api/system/check', undefined, asMember)).statusCode, 403);
});
