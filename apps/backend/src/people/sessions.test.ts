import assert from 'node:assert/strict';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Session, SessionList } from '@station/protocol/rest';
import { manualClock } from '../../testing/manual-clock.ts';
import { bearer, owner, post, refreshCookie, runBackend, type RunningBackend } from '../../testing/running-backend.ts';

const seconds = 1_000;
const minutes = 60 * seconds;

const renew = (running: RunningBackend, cookie: string) => post(running, '/api/auth/refresh', undefined, { cookie });

async function withSession() {
  const clock = manualClock();
  const running = await runBackend({ clock });
  await running.setUp();
  const { email, password } = owner;
  const logIn = async (): Promise<string> => refreshCookie(await post(running, '/api/auth/login', { email, password }));
  return { clock, running, logIn, cookie: await logIn(), [Symbol.asyncDispose]: running[Symbol.asyncDispose] };
}

test('a refresh token works once; a second use ends the session for every holder', async () => {
  await using all = await withSession();
  const { clock, running, logIn, cookie: first } = all;
  const renewed = await renew(running, first);
  assert.equal(renewed.statusCode, 200);
  const second = refreshCookie(renewed);
  assert.notEqual(second, first);

  clock.advance(20 * seconds + 1);
  const stolen = await renew(running, first);
  assert.equal(stolen.statusCode, 401);
  assert.equal(stolen.json().code, 'session_expired');
  assert.equal(running.logger.events('refresh_token_reused').length, 1);
  assert.equal((await renew(running, second)).statusCode, 401);
  assert.equal((await renew(running, await logIn())).statusCode, 200);
});

test('a renewal whose answer was lost can be repeated for some seconds', async () => {
  await using all = await withSession();
  const { clock, running, cookie: first } = all;
  const second = refreshCookie(await renew(running, first));
  clock.advance(20 * seconds);
  const repeated = await renew(running, first);
  assert.equal(repeated.statusCode, 200);
  assert.equal(refreshCookie(repeated), second);
  const me = await running.http.inject({ url: '/api/auth/me', headers: bearer(repeated.json<Session>().accessToken) });
  assert.equal(me.statusCode, 200);
  assert.equal(running.logger.events('refresh_token_reused').length, 0);
  assert.equal((await renew(running, second)).statusCode, 200);
});

test('after the next token was used, the previous one ends the session at once', async () => {
  await using all = await withSession();
  const { running, cookie: first } = all;
  const second = refreshCookie(await renew(running, first));
  const third = refreshCookie(await renew(running, second));
  assert.equal((await renew(running, first)).statusCode, 401);
  assert.equal(running.logger.events('refresh_token_reused').length, 1);
  assert.equal((await renew(running, third)).statusCode, 401);
});

test('a token with the id of a session and another secret ends it, also right after a renewal', async () => {
  await using all = await withSession();
  const { running, cookie: first } = all;
  const second = refreshCookie(await renew(running, first));
  assert.equal((await renew(running, `${first.slice(0, -43)}${'A'.repeat(43)}`)).statusCode, 401);
  assert.equal((await renew(running, second)).statusCode, 401);
});

test('tabs that renew with one token concurrently stay in one session', async () => {
  await using all = await withSession();
  const { clock, running, cookie } = all;
  const answers = await Promise.all(Array.from({ length: 8 }, () => renew(running, cookie)));
  const cookies = new Set(answers.map((answer) => (answer.statusCode === 200 ? refreshCookie(answer) : 'none')));
  assert.equal(cookies.size, 1);
  clock.advance(14 * minutes);
  for (const next of cookies) assert.equal((await renew(running, next)).statusCode, 200);
});

test('a log-out ends the session, and can be repeated', async () => {
  await using running = await runBackend();
  await running.setUp();
  const cookie = refreshCookie(
    await post(running, '/api/auth/login', { email: owner.email, password: owner.password }),
  );
  const out = await post(running, '/api/auth/logout', undefined, { cookie });
  assert.equal(out.statusCode, 204);
  assert.match(String(out.headers['set-cookie']), /station_refresh=;/);
  assert.equal((await post(running, '/api/auth/refresh', undefined, { cookie })).statusCode, 401);
  assert.equal((await post(running, '/api/auth/logout', undefined, { cookie })).statusCode, 204);
});

test('a session that is not used for 30 days has ended, an access token after 15 minutes', async () => {
  const clock = manualClock();
  await using running = await runBackend({ clock });
  const { accessToken } = await running.setUp();
  const login = await post(running, '/api/auth/login', { email: owner.email, password: owner.password });
  const me = () => running.http.inject({ url: '/api/auth/me', headers: bearer(accessToken) });
  clock.advance(14 * minutes);
  assert.equal((await me()).statusCode, 200);
  clock.advance(2 * minutes);
  assert.equal((await me()).statusCode, 401);
  clock.advance(31 * 24 * 60 * minutes);
  assert.equal((await post(running, '/api/auth/refresh', undefined, { cookie: refreshCookie(login) })).statusCode, 401);
});

test('a page of another site cannot renew or end a session with the cookie', async () => {
  await using running = await runBackend();
  await running.setUp();
  const cookie = refreshCookie(
    await post(running, '/api/auth/login', { email: owner.email, password: owner.password }),
  );
  for (const url of ['/api/auth/refresh', '/api/auth/logout']) {
    const foreign = await post(running, url, undefined, {
      cookie,
      host: 'station.local',
      origin: 'http://station.local:8123',
    });
    assert.equal(foreign.statusCode, 403);
    assert.equal(foreign.json().code, 'origin_not_allowed');
  }
  const own = { cookie, host: 'station.local', origin: 'https://station.local' };
  assert.equal((await post(running, '/api/auth/refresh', undefined, own)).statusCode, 200);
});

test('a page of the station is its own also where a proxy names the usual port', async () => {
  await using running = await runBackend();
  await running.setUp();
  const { email, password } = owner;
  for (const [host, origin, status] of [
    ['station.local:443', 'https://station.local', 200],
    ['STATION.local:80', 'http://station.local', 200],
    ['station.local', 'http://station.local:80', 200],
    ['[fd00::1]:443', 'https://[fd00::1]', 200],
    ['station.local:443', 'http://station.local', 403],
    ['station.local', 'null', 403],
    ['station.local', 'https://station.local.evil.example', 403],
  ] as const) {
    const cookie = refreshCookie(await post(running, '/api/auth/login', { email, password }));
    const answer = await post(running, '/api/auth/refresh', undefined, { cookie, host, origin });
    assert.equal(answer.statusCode, status, `${host} ${origin}`);
  }
});

test('a new password ends all other sessions', async () => {
  await using running = await runBackend();
  await running.setUp();
  const { email, password } = owner;
  const other = refreshCookie(await post(running, '/api/auth/login', { email, password }));
  const mine = await post(running, '/api/auth/login', { email, password });
  const headers = { cookie: refreshCookie(mine), ...bearer(mine.json<Session>().accessToken) };
  const next = { currentPassword: password, newPassword: 'another long password' };
  const refused = await post(running, '/api/auth/password', { ...next, currentPassword: 'not it' }, headers);
  assert.equal(refused.statusCode, 401);
  const same = await post(running, '/api/auth/password', { ...next, newPassword: password }, headers);
  assert.deepEqual([same.statusCode, same.json<{ code: string }>().code], [409, 'conflict']);
  assert.equal((await post(running, '/api/auth/password', next, headers)).statusCode, 204);
  assert.equal((await post(running, '/api/auth/refresh', undefined, { cookie: other })).statusCode, 401);
  assert.equal((await post(running, '/api/auth/refresh', undefined, { cookie: headers.cookie })).statusCode, 200);
  assert.equal((await post(running, '/api/auth/login', { email, password })).statusCode, 401);
  assert.equal((await post(running, '/api/auth/login', { email, password: next.newPassword })).statusCode, 200);
});

test('a new password ends every access token; the page that changed it renews its own with its cookie', async () => {
  const clock = manualClock();
  await using running = await runBackend({ clock });
  await running.setUp();
  const { email, password } = owner;
  const logIn = () => post(running, '/api/auth/login', { email, password });
  const thief = await logIn();
  const mine = await logIn();
  const asThief = bearer(thief.json<Session>().accessToken);
  const cookie = refreshCookie(mine);
  const change = { currentPassword: password, newPassword: 'another long password' };
  const asMe = bearer(mine.json<Session>().accessToken);
  assert.equal((await post(running, '/api/auth/password', change, { cookie, ...asMe })).statusCode, 204);

  const accomplice = { email: 'eve@example.org', name: 'Eve', role: 'admin' };
  for (const headers of [asThief, asMe]) {
    assert.equal((await post(running, '/api/station/members', accomplice, headers)).statusCode, 401);
  }
  clock.advance(1);
  const renewed = await post(running, '/api/auth/refresh', undefined, { cookie });
  const me = await running.http.inject({ url: '/api/auth/me', headers: bearer(renewed.json<Session>().accessToken) });
  assert.equal(me.statusCode, 200);
});

test('sessions and the generated secret survive a restart; passwords and tokens are neither stored nor logged in plain text', async () => {
  await using first = await runBackend();
  const { accessToken } = await first.setUp();
  const login = await post(first, '/api/auth/login', { email: owner.email, password: owner.password });
  assert.equal((await stat(join(first.dataDir, 'jwt-secret'))).mode & 0o777, 0o600);
  await using second = await runBackend({ dataDir: first.dataDir });
  assert.equal((await second.http.inject({ url: '/api/auth/me', headers: bearer(accessToken) })).statusCode, 200);
  const cookie = refreshCookie(login);
  assert.equal((await post(second, '/api/auth/refresh', undefined, { cookie })).statusCode, 200);

  const secrets = [
    owner.password,
    accessToken,
    cookie.split('=')[1] ?? '',
    (await readFile(join(first.dataDir, 'jwt-secret'), 'utf8')).trim(),
  ];
  const written = (await readdir(first.dataDir)).filter((name) => name.startsWith('station.sqlite'));
  const places = [...first.logger.lines, ...second.logger.lines];
  for (const name of written) places.push(await readFile(join(first.dataDir, name), 'latin1'));
  for (const secret of secrets) {
    assert.ok(secret.length > 10);
    for (const place of places) assert.ok(!place.includes(secret));
  }
});

test('logging out ends the access token at once; the other sessions of the user go on', async () => {
  await using running = await runBackend();
  await running.setUp();
  const { email, password } = owner;
  const phone = await post(running, '/api/auth/login', { email, password }, { 'user-agent': 'phone' });
  const laptop = await post(running, '/api/auth/login', { email, password }, { 'user-agent': 'laptop' });
  const token = (answer: { json<T>(): T }): string => answer.json<Session>().accessToken;
  const me = async (accessToken: string): Promise<number> =>
    (await running.http.inject({ url: '/api/auth/me', headers: bearer(accessToken) })).statusCode;
  assert.deepEqual([await me(token(phone)), await me(token(laptop))], [200, 200]);
  await post(running, '/api/auth/logout', undefined, { cookie: refreshCookie(phone) });
  assert.deepEqual([await me(token(phone)), await me(token(laptop))], [401, 200]);
});

test('a refresh token that is used again ends the access tokens of its session too', async () => {
  await using all = await withSession();
  const { clock, running, cookie: first } = all;
  const { accessToken } = (await renew(running, first)).json<Session>();
  clock.advance(20 * seconds + 1);
  assert.equal((await renew(running, first)).statusCode, 401);
  const me = await running.http.inject({ url: '/api/auth/me', headers: bearer(accessToken) });
  assert.equal(me.statusCode, 401);
});

test('a session that is used every day ends after a year', async () => {
  await using all = await withSession();
  const { clock, running } = all;
  let { cookie } = all;
  for (let day = 1; day < 365; day++) {
    clock.advance(24 * 60 * minutes);
    const renewed = await renew(running, cookie);
    assert.equal(renewed.statusCode, 200, `day ${day}`);
    cookie = refreshCookie(renewed);
  }
  clock.advance(24 * 60 * minutes);
  assert.equal((await renew(running, cookie)).statusCode, 401);
});

test('a user sees where they are logged in, and ends a session elsewhere at once', async () => {
  await using running = await runBackend();
  const { accessToken: first } = await running.setUp();
  const { email, password } = owner;
  const browser = `Mozilla/5.0 (X11; Linux x86_64) ${'x'.repeat(400)}`;
  const opened = await post(running, '/api/auth/login', { email, password }, { 'user-agent': browser });
  const second = opened.json<Session>().accessToken;
  const list = async (accessToken: string): Promise<SessionList['sessions']> =>
    (await running.http.inject({ url: '/api/auth/sessions', headers: bearer(accessToken) })).json<SessionList>()
      .sessions;
  const [here, elsewhere, ...others] = await list(second);
  assert.deepEqual([here?.isCurrent, elsewhere?.isCurrent, others.length], [true, false, 0]);
  assert.equal(here?.userAgent, browser.slice(0, 300));
  assert.equal(here?.address, '127.0.0.1');

  const end = (id = '', accessToken = second) =>
    running.http.inject({ method: 'DELETE', url: `/api/auth/sessions/${id}`, headers: bearer(accessToken) });
  const petro = { email: 'petro@example.org', name: 'Petro', role: 'member', password: 'a password of his own' };
  assert.equal((await post(running, '/api/station/members', petro, bearer(second))).statusCode, 201);
  const his = await post(running, '/api/auth/login', { email: petro.email, password: petro.password });
  assert.equal(
    (await end(elsewhere?.id, his.json<Session>().accessToken)).statusCode,
    404,
    'a session of another user',
  );
  assert.equal((await end(elsewhere?.id)).statusCode, 204);
  assert.equal((await end(elsewhere?.id)).statusCode, 404);
  const me = await running.http.inject({ url: '/api/auth/me', headers: bearer(first) });
  assert.equal(me.statusCode, 401);
  assert.deepEqual((await list(second)).length, 1);
});

test('a session that has ended stays ended after a restart, and so does a role', async () => {
  const env = { JWT_SECRET: 'a secret of the configuration, 32+ bytes' };
  await using first = await runBackend({ env });
  const { accessToken: owners } = await first.setUp();
  const petro = { email: 'petro@example.org', name: 'Petro', role: 'admin', password: 'a password of his own' };
  const added = await post(first, '/api/station/members', petro, bearer(owners));
  const logIn = async (): Promise<{ token: string; cookie: string }> => {
    const answer = await post(first, '/api/auth/login', { email: petro.email, password: petro.password });
    return { token: answer.json<Session>().accessToken, cookie: refreshCookie(answer) };
  };
  const left = await logIn();
  const kept = await logIn();
  await post(first, '/api/auth/logout', undefined, { cookie: left.cookie });
  const { userId } = added.json<{ userId: string }>();
  const url = `/api/station/members/${userId}`;
  const lowered = await first.http.inject({
    method: 'PATCH',
    url,
    headers: bearer(owners),
    payload: { role: 'member' },
  });
  assert.equal(lowered.statusCode, 200);
  const after = await post(first, '/api/auth/refresh', undefined, { cookie: kept.cookie });
  await using second = await runBackend({ env, dataDir: first.dataDir });
  const me = async (accessToken: string): Promise<number> =>
    (await second.http.inject({ url: '/api/auth/me', headers: bearer(accessToken) })).statusCode;
  assert.deepEqual(await Promise.all([me(left.token), me(kept.token)]), [401, 401]);
  assert.deepEqual(await Promise.all([me(after.json<Session>().accessToken), me(owners)]), [200, 200]);
});
