import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Passkey, PasskeyCreation, PasskeyList, PasskeyRequest } from '@station/protocol/passkeys';
import type { MadePassword, Session } from '@station/protocol/rest';

import { manualClock } from '../../testing/manual-clock.ts';
import { bearer, owner, refreshCookie, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { createSoftwareAuthenticator, type SoftwareAuthenticator } from '../../testing/software-authenticator.ts';

const host = 'station.local';
const origin = `https://${host}`;
/** As the reverse proxy hands on a request that came over HTTPS. */
const encrypted = { host, 'x-forwarded-proto': 'https' };

type Headers = Record<string, string>;

/** What pages ask the station, over HTTPS under its name. */
function pagesOf({ http }: RunningBackend) {
  const post = (url: string, payload: object | undefined, headers: Headers) =>
    http.inject({ method: 'POST', url, headers, ...(payload && { payload }) });
  const pages = {
    post,
    options: (session: Session, password = owner.password, headers: Headers = encrypted) =>
      post('/api/auth/passkeys/options', { currentPassword: password }, { ...headers, ...bearer(session.accessToken) }),
    add: (session: Session, credential: object, name = 'Phone') =>
      post('/api/auth/passkeys', { name, credential }, { ...encrypted, ...bearer(session.accessToken) }),
    list: async (session: Session) =>
      (await http.inject({ url: '/api/auth/passkeys', headers: bearer(session.accessToken) })).json<PasskeyList>()
        .passkeys,
    loginOptions: async (headers: Headers = encrypted) =>
      (await post('/api/auth/passkeys/login-options', undefined, headers)).json<PasskeyRequest>(),
    logIn: (credential: object, headers: Headers = encrypted) =>
      post('/api/auth/passkeys/login', { credential }, headers),
    /** Adds a key of this device. */
    enrol: async (session: Session, device: SoftwareAuthenticator, password = owner.password): Promise<Passkey> => {
      const options = (await pages.options(session, password)).json<PasskeyCreation>();
      const added = await pages.add(session, device.create(options, { origin }));
      assert.equal(added.statusCode, 201, added.body);
      return added.json<Passkey>();
    },
    /** Logs in with it as a browser does. */
    use: async (device: SoftwareAuthenticator) => pages.logIn(device.get(await pages.loginOptions(), { origin })),
  };
  return pages;
}

const refused = (answer: { statusCode: number; json(): { code: string } }, code = 'passkey_unknown'): void =>
  assert.equal(answer.json().code, code, `${answer.statusCode}`);

test('somebody adds a passkey with their password and logs in with it; the session is like any other', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const session = await running.setUp();
  const device = createSoftwareAuthenticator();
  const passkey = await pages.enrol(session, device);
  assert.deepEqual([passkey.name, passkey.host, passkey.usedAt], ['Phone', host, null]);
  const answer = await pages.use(device);
  assert.equal(answer.statusCode, 200, answer.body);
  const opened = answer.json<Session>();
  assert.equal(opened.user.id, session.user.id);
  assert.match(String(answer.headers['set-cookie']), /; HttpOnly; Secure; SameSite=Strict/);
  const sessions = await running.http.inject({ url: '/api/auth/sessions', headers: bearer(opened.accessToken) });
  assert.equal(sessions.json().sessions.length, 2);
  assert.notEqual((await pages.list(opened))[0]?.usedAt, null);
  const renewed = await pages.post('/api/auth/refresh', undefined, { cookie: refreshCookie(answer) });
  assert.equal(renewed.statusCode, 200);
  await pages.post('/api/auth/logout', undefined, { cookie: refreshCookie(renewed) });
  const me = await running.http.inject({ url: '/api/auth/me', headers: bearer(opened.accessToken) });
  assert.equal(me.statusCode, 401);
});

test('adding one needs the current password, and wrong ones are counted', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const session = await running.setUp();
  const wrong = async () => (await pages.options(session, 'a wrong password')).json().code as string;
  const codes = [await wrong(), await wrong(), await wrong(), await wrong(), await wrong(), await wrong()];
  assert.deepEqual([codes[0], codes.at(-1)], ['invalid_credentials', 'too_many_requests']);
  refused(await pages.options(session), 'too_many_requests');
});

test('there are none without HTTPS, for an address, and under a foreign name', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const session = await running.setUp();
  const places: [Headers, string][] = [
    [{ host }, 'passkeys_unavailable'],
    [{ host, 'x-forwarded-proto': 'http' }, 'passkeys_unavailable'],
    [{ host: '192.168.1.7', 'x-forwarded-proto': 'https' }, 'passkeys_unavailable'],
    [{ host: '[fd00::7]', 'x-forwarded-proto': 'https' }, 'passkeys_unavailable'],
    [{ host: 'evil.example', 'x-forwarded-proto': 'https' }, 'host_unknown'],
  ];
  const credential = createSoftwareAuthenticator().get(await pages.loginOptions(), { origin });
  for (const [headers, code] of places) {
    refused(await pages.post('/api/auth/passkeys/login-options', undefined, headers), code);
    refused(await pages.options(session, owner.password, headers), code);
    refused(await pages.logIn(credential, headers), code);
  }
});

test('a passkey works under the name for which it was made, and under PUBLIC_URL too when it was made there', async () => {
  await using running = await runBackend({ env: { PUBLIC_URL: 'https://home.example' } });
  const pages = pagesOf(running);
  const session = await running.setUp();
  const device = createSoftwareAuthenticator();
  await pages.enrol(session, device);
  const there = { host: 'home.example', 'x-forwarded-proto': 'https' };
  const options = await pages.loginOptions(there);
  assert.equal(options.rpId, 'home.example');
  refused(await pages.logIn(device.get(options, { origin: 'https://home.example' }), there));
  const own = createSoftwareAuthenticator();
  const creation = (await pages.options(session, owner.password, there)).json<PasskeyCreation>();
  assert.deepEqual(creation.excludeCredentials, []);
  const payload = { name: 'Away', credential: own.create(creation, { origin: 'https://home.example' }) };
  const headers = { ...there, ...bearer(session.accessToken) };
  assert.equal((await pages.post('/api/auth/passkeys', payload, headers)).statusCode, 201);
  const away = own.get(await pages.loginOptions(there), { origin: 'https://home.example' });
  assert.equal((await pages.logIn(away, there)).statusCode, 200);
});

test('an answer is accepted once, also when it is sent twice at the same time', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const session = await running.setUp();
  for (const counts of [true, false]) {
    const device = createSoftwareAuthenticator({ counts });
    await pages.enrol(session, device);
    const credential = device.get(await pages.loginOptions(), { origin });
    const both = await Promise.all([pages.logIn(credential), pages.logIn(credential)]);
    assert.deepEqual(both.map(({ statusCode }) => statusCode).sort(), [200, 401]);
    refused(await pages.logIn(credential));
    assert.equal((await pages.use(device)).statusCode, 200, 'the next challenge is a new one');
  }
  const device = createSoftwareAuthenticator();
  const created = device.create((await pages.options(session)).json<PasskeyCreation>(), { origin });
  const { id } = (await pages.add(session, created)).json<Passkey>();
  refused(await pages.add(session, created), 'passkey_invalid');
  const headers = { ...encrypted, ...bearer(session.accessToken) };
  await running.http.inject({ method: 'DELETE', url: `/api/auth/passkeys/${id}`, headers });
  refused(await pages.add(session, created), 'passkey_invalid');
});

test('what was signed for another page, another name, another ceremony or without the person is refused', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const session = await running.setUp();
  const wrongPages = [
    { origin: 'https://evil.example' },
    { origin: `http://${host}` },
    { origin: `${origin}:8443` },
    { origin, host: 'evil.example' },
    { origin, isPersonVerified: false },
  ];
  for (const page of wrongPages) {
    const creation = (await pages.options(session)).json<PasskeyCreation>();
    refused(await pages.add(session, createSoftwareAuthenticator().create(creation, page)), 'passkey_invalid');
  }
  assert.deepEqual(await pages.list(session), []);
  const device = createSoftwareAuthenticator();
  await pages.enrol(session, device);
  for (const page of wrongPages) refused(await pages.logIn(device.get(await pages.loginOptions(), page)));
  const creation = (await pages.options(session)).json<PasskeyCreation>();
  const request = await pages.loginOptions();
  refused(await pages.logIn(device.get({ ...request, challenge: creation.challenge }, { origin })));
  const other = createSoftwareAuthenticator();
  const crossed = other.create({ ...creation, challenge: request.challenge }, { origin });
  refused(await pages.add(session, crossed), 'passkey_invalid');
  const own = { ...request, challenge: Buffer.alloc(56).toString('base64url') };
  refused(await pages.logIn(device.get(own, { origin })));
  assert.equal((await pages.use(device)).statusCode, 200);
});

test('certificates in an attestation are refused unread: they would name addresses to fetch', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const session = await running.setUp();
  const creation = (await pages.options(session)).json<PasskeyCreation>();
  const page = { origin, hasCertificate: true };
  refused(await pages.add(session, createSoftwareAuthenticator().create(creation, page)), 'passkey_invalid');
});

test('a page of another site cannot log somebody in', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const device = createSoftwareAuthenticator();
  await pages.enrol(await running.setUp(), device);
  const credential = device.get(await pages.loginOptions(), { origin });
  refused(await pages.logIn(credential, { ...encrypted, origin: 'https://evil.example' }), 'origin_not_allowed');
});

test('a counter that goes back, or stands still, means a copy of the key: it is refused', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const device = createSoftwareAuthenticator();
  await pages.enrol(await running.setUp(), device);
  device.counter = 7;
  assert.equal((await pages.use(device)).statusCode, 200);
  for (const last of [7, 3]) {
    device.counter = last - 1;
    refused(await pages.use(device));
  }
  device.counter = 0x7fff_fffe;
  assert.equal((await pages.use(device)).statusCode, 200);
});

test('a challenge ends after five minutes, and one from the future is not accepted', async () => {
  const clock = manualClock();
  await using running = await runBackend({ clock });
  const pages = pagesOf(running);
  const session = await running.setUp();
  const device = createSoftwareAuthenticator();
  await pages.enrol(session, device);
  const early = await pages.loginOptions();
  const late = await pages.loginOptions();
  const creation = (await pages.options(session)).json<PasskeyCreation>();
  clock.advance(5 * 60_000 - 1);
  assert.equal((await pages.logIn(device.get(early, { origin }))).statusCode, 200);
  clock.advance(1);
  refused(await pages.logIn(device.get(late, { origin })));
  refused(await pages.add(session, createSoftwareAuthenticator().create(creation, { origin })), 'passkey_invalid');
  const next = await pages.loginOptions();
  clock.advance(-60_000);
  refused(await pages.logIn(device.get(next, { origin })));
});

type Joined = { id: string; session: Session; email: string };
const password = 'a long enough password';

async function join({ http }: RunningBackend, by: Session, name: string): Promise<Joined> {
  const account = { email: `${name}@example.org`, password };
  const payload = { ...account, name, role: 'member' };
  const made = await http.inject({
    method: 'POST',
    url: '/api/station/members',
    headers: bearer(by.accessToken),
    payload,
  });
  const login = await http.inject({ method: 'POST', url: '/api/auth/login', payload: account });
  return { id: made.json<{ userId: string }>().userId, session: login.json<Session>(), email: account.email };
}

test('nobody can use, see, rename or remove the passkey of another user, or take over its id', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const olena = await running.setUp();
  const maria = (await join(running, olena, 'maria')).session;
  const hers = createSoftwareAuthenticator();
  const mine = createSoftwareAuthenticator();
  const { id } = await pages.enrol(olena, hers);
  await pages.enrol(maria, mine, password);
  assert.equal((await pages.list(maria)).length, 1);
  const headers = bearer(maria.accessToken);
  const url = `/api/auth/passkeys/${id}`;
  refused(await running.http.inject({ method: 'DELETE', url, headers }), 'not_found');
  refused(await running.http.inject({ method: 'PATCH', url, headers, payload: { name: 'Mine' } }), 'not_found');

  const signed = mine.get(await pages.loginOptions(), { origin });
  const theirs = hers.get(await pages.loginOptions(), { origin });
  refused(await pages.logIn({ ...signed, id: theirs.id, rawId: theirs.rawId }));
  const { userHandle } = theirs.response;
  refused(await pages.logIn({ ...signed, response: { ...signed.response, userHandle } }));

  const creation = (await pages.options(maria, password)).json<PasskeyCreation>();
  refused(await pages.add(olena, createSoftwareAuthenticator().create(creation, { origin })), 'passkey_invalid');
  refused(await pages.add(maria, hers.create(creation, { origin })), 'conflict');
  assert.equal((await pages.list(olena))[0]?.name, 'Phone');
});

test('it can be renamed and removed; from then on it opens nothing', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const session = await running.setUp();
  const device = createSoftwareAuthenticator();
  const { id } = await pages.enrol(session, device);
  const headers = bearer(session.accessToken);
  const url = `/api/auth/passkeys/${id}`;
  const renamed = await running.http.inject({ method: 'PATCH', url, headers, payload: { name: ' Blue phone ' } });
  assert.equal(renamed.json<Passkey>().name, 'Blue phone');
  const creation = (await pages.options(session)).json<PasskeyCreation>();
  assert.equal(creation.excludeCredentials.length, 1, 'a device does not make a second one');
  assert.equal((await running.http.inject({ method: 'DELETE', url, headers })).statusCode, 204);
  refused(await running.http.inject({ method: 'DELETE', url, headers }), 'not_found');
  refused(await pages.use(device));
  assert.deepEqual(await pages.list(session), []);
});

test('a user has at most twenty', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const session = await running.setUp();
  const spare = (await pages.options(session)).json<PasskeyCreation>();
  for (let nth = 0; nth < 20; nth++) await pages.enrol(session, createSoftwareAuthenticator());
  refused(await pages.options(session), 'conflict');
  refused(await pages.add(session, createSoftwareAuthenticator().create(spare, { origin })), 'conflict');
});

test('a password that somebody made for me removes my passkeys; one that I chose keeps them', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const olena = await running.setUp();
  const maria = await join(running, olena, 'maria');
  const device = createSoftwareAuthenticator();
  await pages.enrol(maria.session, device, password);
  const pending = (await pages.options(maria.session, password)).json<PasskeyCreation>();
  const change = { currentPassword: password, newPassword: 'another long password' };
  assert.equal((await pages.post('/api/auth/password', change, bearer(maria.session.accessToken))).statusCode, 204);
  const again = (await pages.use(device)).json<Session>();
  assert.equal(again.user.id, maria.id);
  const late = createSoftwareAuthenticator().create(pending, { origin });
  refused(await pages.add(again, late), 'passkey_invalid');

  const url = `/api/station/members/${maria.id}/password`;
  const made = await pages.post(url, undefined, bearer(olena.accessToken));
  assert.ok(made.json<MadePassword>().password);
  refused(await pages.use(device));
  assert.deepEqual(await running.backend.db.selectFrom('passkeys').select('id').execute(), []);
});

test('removing a member removes their passkeys; those of a closed account work again when it is opened', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  const olena = await running.setUp();
  const maria = await join(running, olena, 'maria');
  const device = createSoftwareAuthenticator();
  await pages.enrol(maria.session, device, password);
  const { db } = running.backend;
  await db.updateTable('users').set({ closed_at: Date.now() }).where('id', '=', maria.id).execute();
  refused(await pages.use(device));
  await db.updateTable('users').set({ closed_at: null }).where('id', '=', maria.id).execute();
  assert.equal((await pages.use(device)).statusCode, 200);
  const headers = bearer(olena.accessToken);
  await running.http.inject({ method: 'DELETE', url: `/api/station/members/${maria.id}`, headers });
  refused(await pages.use(device));
  assert.deepEqual(await db.selectFrom('passkeys').select('id').execute(), []);
});

test('failed log-ins with passkeys are counted for the network, and delay passwords there too', async () => {
  await using running = await runBackend();
  const pages = pagesOf(running);
  await running.setUp();
  const other = createSoftwareAuthenticator();
  const options = await pages.loginOptions();
  const credential = other.get(options, { origin });
  const from = (address: string) => ({ ...encrypted, 'x-forwarded-for': address });
  for (let nth = 0; nth < 30; nth++) refused(await pages.logIn(credential, from('192.0.2.7')));
  const answer = await pages.logIn(credential, from('192.0.2.7'));
  refused(answer, 'too_many_requests');
  assert.ok(Number(answer.headers['retry-after']) > 0);
  const account = { email: owner.email, password: owner.password };
  refused(await pages.post('/api/auth/login', account, from('192.0.2.7')), 'too_many_requests');
  assert.equal((await pages.post('/api/auth/login', account, from('192.0.2.8'))).statusCode, 200);
  assert.ok(running.logger.events('login_failed').some(({ reason }) => reason === 'passkey not valid'));
});

test('requests for log-ins store nothing; what genuine answers store is removed when it is of no use', async () => {
  const clock = manualClock();
  await using running = await runBackend({ clock });
  const pages = pagesOf(running);
  const session = await running.setUp();
  const device = createSoftwareAuthenticator();
  await pages.enrol(session, device);
  const count = async () =>
    (await running.backend.db.selectFrom('used_challenges').select('challenge').execute()).length;
  const before = await count();
  for (let nth = 0; nth < 50; nth++) await pages.loginOptions();
  refused(await pages.use(createSoftwareAuthenticator()));
  assert.equal(await count(), before);
  for (let nth = 0; nth < 5; nth++) assert.equal((await pages.use(device)).statusCode, 200);
  assert.equal(await count(), before + 5);
  clock.advance(11 * 60_000);
  await pages.use(device);
  assert.equal(await count(), 1);
});
