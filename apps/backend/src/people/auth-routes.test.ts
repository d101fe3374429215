import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { decodeJwt, SignJWT } from 'jose';
import type { Session } from '@station/protocol/rest';
import { manualClock } from '../../testing/manual-clock.ts';
import { bearer, owner, post, runBackend } from '../../testing/running-backend.ts';

test('the printed code creates the owner at the first run, once', async () => {
  await using running = await runBackend();
  const { http, logger, dataDir } = running;
  assert.deepEqual((await http.inject('/api/auth/setup')).json(), { needed: true, stationName: null });
  const code = (await running.setupCode()).trim();
  assert.equal(logger.events('setup_pending').length, 1);
  assert.ok(!logger.lines.join('\n').includes(code), 'whoever may read the log must not become the owner');
  assert.equal((await stat(join(dataDir, 'setup-code'))).mode & 0o777, 0o600);

  const wrong = await post(running, '/api/auth/setup', { ...owner, code: 'BBBB-BBBB-BBBB' });
  assert.equal(wrong.statusCode, 403);
  assert.equal(wrong.json().code, 'setup_code_invalid');

  const typed = code.toLowerCase().replaceAll('-', ' ');
  const done = await post(running, '/api/auth/setup', {
    ...owner,
    code: typed,
    stationName: 'Hut',
    timeZone: 'Asia/Tokyo',
  });
  assert.equal(done.statusCode, 201);
  const { accessToken, user } = done.json<Session>();
  assert.equal(user.role, 'owner');
  assert.equal(user.email, owner.email);
  const claims = decodeJwt(accessToken);
  assert.equal(claims['userId'], user.id);
  assert.equal(claims['role'], 'owner');
  assert.equal(Math.round(claims.exp! - claims.iat!), 900);

  const cookie = String(done.headers['set-cookie']);
  for (const attribute of ['HttpOnly', 'SameSite=Strict', 'Path=/api/auth'])
    assert.ok(cookie.includes(attribute), cookie);
  assert.doesNotMatch(cookie, /Secure/);

  assert.deepEqual((await http.inject('/api/auth/setup')).json(), { needed: false, stationName: 'Hut' });
  const again = await post(running, '/api/auth/setup', { ...owner, code });
  assert.equal(again.statusCode, 409);
  assert.equal(again.json().code, 'setup_already_done');
  assert.ok(!(await readdir(dataDir)).includes('setup-code'), 'the code is of no use any more');
  const station = await http.inject({ url: '/api/station', headers: bearer(accessToken) });
  assert.deepEqual([station.json().name, station.json().timeZone], ['Hut', 'Asia/Tokyo']);
  assert.equal(station.json().ownerId, user.id);
});

test('STATION_CODE is the set-up code, once, and never in the log or in a file', async () => {
  await using running = await runBackend({ env: { STATION_CODE: 'abcde-23456' } });
  const { dataDir, logger } = running;
  assert.equal(logger.events('setup_pending').length, 1);
  assert.ok(!(await readdir(dataDir)).includes('setup-code'));
  const wrong = await post(running, '/api/auth/setup', { ...owner, code: 'ABCDE-23457' });
  assert.equal(wrong.statusCode, 403);
  const strange = { ...owner, code: 'Abc de2 3456', timeZone: 'Moon/Base' };
  const done = await post(running, '/api/auth/setup', strange);
  assert.equal(done.statusCode, 201);
  const again = await post(running, '/api/auth/setup', { ...owner, code: 'abcde-23456' });
  assert.equal(again.statusCode, 409);
  assert.equal(again.json().code, 'setup_already_done');
});

test('of two concurrent set-ups one succeeds', async () => {
  await using running = await runBackend();
  const code = (await running.setupCode()).trim();
  const answers = await Promise.all(
    ['a@example.org', 'b@example.org'].map((email) => post(running, '/api/auth/setup', { ...owner, email, code })),
  );
  assert.deepEqual(answers.map(({ statusCode }) => statusCode).sort(), [201, 409]);
});

test('a log-in returns an access token that /me accepts; a wrong password and an unknown address get equal answers', async () => {
  await using running = await runBackend();
  await running.setUp();
  const { email, password } = owner;
  const good = await post(running, '/api/auth/login', { email: email.toUpperCase(), password });
  assert.equal(good.statusCode, 200);
  const me = await running.http.inject({ url: '/api/auth/me', headers: bearer(good.json<Session>().accessToken) });
  assert.equal(me.json().email, email);
  assert.deepEqual(Object.keys(me.json()).sort(), ['createdAt', 'email', 'id', 'name', 'role']);

  const wrong = await post(running, '/api/auth/login', { email, password: 'not it at all' });
  const unknown = await post(running, '/api/auth/login', { email: 'nobody@example.org', password: 'not it at all' });
  assert.equal(wrong.statusCode, 401);
  assert.deepEqual(wrong.json(), unknown.json());
  assert.equal(wrong.json().code, 'invalid_credentials');
});

test('guesses are delayed by account and address, also for unknown accounts, and longer each time', async () => {
  const clock = manualClock();
  await using running = await runBackend({ clock });
  await running.setUp();
  for (const email of [owner.email, 'nobody@example.org']) {
    const statuses: number[] = [];
    for (let guess = 0; guess < 7; guess++) {
      statuses.push((await post(running, '/api/auth/login', { email, password: `guess ${guess}` })).statusCode);
    }
    assert.deepEqual(statuses, [401, 401, 401, 401, 401, 429, 429]);
  }
  const { email, password } = owner;
  const blocked = await post(running, '/api/auth/login', { email, password });
  assert.equal(blocked.statusCode, 429);
  assert.equal(blocked.json().code, 'too_many_requests');
  assert.equal(blocked.headers['retry-after'], '30');
  const elsewhere = await post(running, '/api/auth/login', { email, password }, { 'x-forwarded-for': '192.168.1.77' });
  assert.equal(elsewhere.statusCode, 200, 'the owner at another address is not locked out');
  clock.advance(30_000);
  assert.equal((await post(running, '/api/auth/login', { email, password: 'guess 8' })).statusCode, 401);
  const longer = await post(running, '/api/auth/login', { email, password });
  assert.equal(longer.headers['retry-after'], '60');
  clock.advance(60_000);
  assert.equal((await post(running, '/api/auth/login', { email, password })).statusCode, 200);
});

test('concurrent guesses are counted before they are answered', async () => {
  await using running = await runBackend();
  await running.setUp();
  const guesses = Array.from({ length: 12 }, (_, index) =>
    post(running, '/api/auth/login', { email: owner.email, password: `guess ${index}` }),
  );
  const statuses = (await Promise.all(guesses)).map(({ statusCode }) => statusCode);
  assert.equal(statuses.filter((status) => status === 401).length, 5);
  assert.equal(statuses.filter((status) => status === 429).length, 7);
});

test('a token must be signed with our secret and HS256, and carry userId and role', async () => {
  const secret = 'a secret of the configuration, 32+ bytes';
  await using running = await runBackend({ env: { JWT_SECRET: secret } });
  const { user } = await running.setUp();
  const key = new TextEncoder().encode(secret);
  const sign = (claims: Record<string, unknown>, alg = 'HS256', withKey = key): Promise<string> =>
    new SignJWT(claims).setProtectedHeader({ alg }).setExpirationTime('5m').sign(withKey);
  const status = async (token: string): Promise<number> =>
    (await running.http.inject({ url: '/api/auth/me', headers: bearer(token) })).statusCode;
  assert.equal(await status(await sign({ userId: user.id, role: 'owner' })), 200);
  assert.equal(await status(await sign({ userId: user.id })), 401);
  assert.equal(await status(await sign({ role: 'owner' })), 401);
  assert.equal(await status(await sign({ userId: user.id, role: 'emperor' })), 401);
  const longKey = new TextEncoder().encode(secret.repeat(2));
  assert.equal(await status(await sign({ userId: user.id, role: 'owner' }, 'HS512', longKey)), 401);
  assert.equal(await status(await sign({ userId: user.id, role: 'owner' }, 'HS256', longKey)), 401);
  const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(JSON.stringify({ userId: user.id, role: 'owner' })).toString('base64url')}.`;
  assert.equal(await status(unsigned), 401);
});

test('somebody with a bcrypt hash of the cloud logs in, and the hash is replaced without an effect on the sessions', async () => {
  await using running = await runBackend();
  const { http, backend } = running;
  await running.setUp();
  // Of Apache's htpasswd, for the owner's password.
  const bcrypt = '$2y$10$NVqaHBvBJh1mlJRl7qaQLO1dQ1ih5wTo0whla/Lw07JQYRE9OMf72';
  await backend.db.updateTable('users').set({ station_password_hash: bcrypt }).execute();
  const stored = async () =>
    (await backend.db.selectFrom('users').selectAll().executeTakeFirstOrThrow()).station_password_hash;
  const { email, password } = owner;
  assert.equal((await post(running, '/api/auth/login', { email, password: `${password}x` })).statusCode, 401);
  assert.equal(await stored(), bcrypt);
  const first = await post(running, '/api/auth/login', { email, password });
  assert.equal(first.statusCode, 200);
  assert.match((await stored()) ?? '', /^\$argon2id\$/);
  const { accessToken } = first.json<Session>();
  assert.equal((await http.inject({ url: '/api/auth/me', headers: bearer(accessToken) })).statusCode, 200);
  const cookie = String(first.headers['set-cookie']).split(';')[0] ?? '';
  assert.equal((await http.inject({ method: 'POST', url: '/api/auth/refresh', headers: { cookie } })).statusCode, 200);
  assert.equal((await post(running, '/api/auth/login', { email, password })).statusCode, 200);
});
