import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CloudClaim, CloudDeadLetter, CloudStatus } from '@station/protocol/cloud';
import { findFreePort } from '@station/kit/free-port';
import type { Session } from '@station/protocol/rest';
import { bearer, owner, runBackend, type RunningBackend } from '../../testing/running-backend.ts';
import { postgresDatabase, postgresUrl } from '../../testing/test-postgres.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { until } from '../../testing/until.ts';

test('without a cloud: disabled, nothing to claim, and everything else works', async () => {
  await using running = await runBackend();
  const headers = bearer((await running.setUp()).accessToken);
  const status = (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  assert.equal(status.state, 'disabled');
  assert.equal((await running.http.inject({ url: '/api/cloud/claim', headers })).statusCode, 409);
  assert.equal((await running.http.inject({ method: 'POST', url: '/api/cloud/unclaim', headers })).statusCode, 409);
  assert.deepEqual((await running.http.inject({ url: '/api/cloud/activity', headers })).json(), []);
  assert.equal((await running.http.inject({ url: '/api/cloud/dead-letters', headers })).statusCode, 409);
  const again = await running.http.inject({ method: 'POST', url: '/api/cloud/dead-letters/send', headers });
  assert.equal(again.statusCode, 409);
});

test('an owner whose password the cloud changed can use the local one once the station starts without a cloud', async () => {
  await using folder = await temporaryFolder();
  const dataDir = `${folder.path}/data`;
  // Otherwise the first backend deletes it.
  await using _database = postgresUrl === null ? null : await postgresDatabase(postgresUrl, dataDir);
  {
    await using running = await runBackend({ dataDir });
    const { user } = await running.setUp();
    const users = running.backend.db.updateTable('users').where('id', '=', user.id);
    const linked = { email: 'moved@example.org', cloud_user_id: 'o', home_email: owner.email };
    await users.set((where) => ({ ...linked, home_password_hash: where.ref('station_password_hash') })).execute();
    await users.set({ station_password_hash: 'junk' }).execute();
  }
  await using running = await runBackend({ dataDir });
  const { email, password } = owner;
  const login = await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
  assert.equal(login.statusCode, 200);
});

test('dead letters are listed, shown as a condition, and resent by permitted users; the log names the user', async () => {
  const env = { CLOUD_HOST: `ws://127.0.0.1:${await findFreePort()}` };
  await using running = await runBackend({ env });
  const session = await running.setUp();
  const headers = bearer(session.accessToken);
  const row = { seq: 7, channel: 'system', content: '{"id":"a"}', reason: 'closed with 1008', at: 1_000 };
  await running.backend.db.insertInto('cloud_dead_letters').values(row).execute();
  const status = async () => (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  assert.deepEqual(
    (await status()).conditions.map(({ id, since }) => [id, since]),
    [['cloud_dead_letters', '1970-01-01T00:00:01.000Z']],
  );
  assert.deepEqual((await running.http.inject({ url: '/api/cloud/dead-letters', headers })).json<CloudDeadLetter[]>(), [
    { seq: 7, channel: 'system', reason: 'closed with 1008', at: '1970-01-01T00:00:01.000Z' },
  ]);
  const sent = await running.http.inject({ method: 'POST', url: '/api/cloud/dead-letters/send', headers });
  assert.deepEqual(sent.json(), { count: 1 });
  const after = await status();
  assert.deepEqual(after.conditions, []);
  assert.deepEqual([after.outbox.pending, after.outbox.deadLetters], [1, 0]);
  const logged = running.logger.lines.find((line) => line.includes('cloud_dead_letters_resent')) ?? '';
  assert.ok(logged.includes(session.user.id), logged);
});

test('without the configured certificates there is no link, even if Node would trust the cloud', async () => {
  await using running = await runBackend({ env: { CLOUD_HOST: 'localhost:9', CLOUD_CA_FILE: '/nowhere/ca.pem' } });
  const headers = bearer((await running.setUp()).accessToken);
  const read = async () => (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  await until('it is said', async () => (await read()).lastError === 'CLOUD_CA_FILE cannot be read, or is empty.');
  assert.deepEqual(
    (await read()).conditions.map(({ id }) => id),
    ['cloud_certificate_untrusted'],
  );
});

test('with an unreachable cloud: unclaimed, the reason, and the next attempt; the claim code stays the same', async () => {
  const env = { CLOUD_HOST: `ws://127.0.0.1:${await findFreePort()}` };
  await using running = await runBackend({ env });
  const headers = bearer((await running.setUp()).accessToken);
  const read = async () => (await running.http.inject({ url: '/api/cloud/status', headers })).json<CloudStatus>();
  await until('it is known that the cloud is away', async () => (await read()).lastError !== null);
  const status = await read();
  assert.equal(status.state, 'unclaimed');
  assert.match(status.lastError ?? '', /ECONNREFUSED/);
  const claim = async () => (await running.http.inject({ url: '/api/cloud/claim', headers })).json<CloudClaim>();
  const first = await claim();
  assert.ok(first.claimSecret.length > 20 && first.uri.includes(first.chipId));
  assert.deepEqual(await claim(), first);
  assert.equal((await running.http.inject({ method: 'POST', url: '/api/cloud/unclaim', headers })).statusCode, 204);
  assert.notEqual((await claim()).claimSecret, first.claimSecret, 'who saw the old code is shut out');
  const health = await running.http.inject({ url: '/api/health' });
  assert.equal(health.statusCode, 200);
  assert.ok(!running.logger.lines.join('\n').includes(first.claimSecret));
});

/** The owner, whom the cloud made an admin, and users that the cloud knows or does not know. */
async function peopleOf(running: RunningBackend): Promise<Record<string, Record<string, string>>> {
  const { accessToken, user } = await running.setUp();
  const headers = bearer(accessToken);
  const join = async (name: string, role: string): Promise<Session> => {
    const account = { email: `${name}@example.org`, password: 'a password of their own' };
    const payload = { ...account, name, role };
    await running.http.inject({ method: 'POST', url: '/api/station/members', headers, payload });
    const login = await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: account });
    return login.json<Session>();
  };
  const member = await join('member', 'member');
  const admin = await join('admin', 'admin');
  const named = await join('x', 'admin');
  const { db } = running.backend;
  await db.updateTable('station').set({ owner_id: named.user.id }).execute();
  await db.updateTable('users').set({ role: 'owner', cloud_user_id: 'x' }).where('id', '=', named.user.id).execute();
  await db.updateTable('users').set({ role: 'admin', home_role: 'owner' }).where('id', '=', user.id).execute();
  await db.deleteFrom('station_members').where('user_id', '=', named.user.id).execute();
  await db.insertInto('station_members').values({ user_id: user.id, role: 'admin', joined_at: 1 }).execute();
  const tokens = { member, admin, owner: named };
  const all = Object.entries(tokens).map(([who, session]) => [who, bearer(session.accessToken)] as const);
  return { nobody: {}, 'owner at home': headers, ...Object.fromEntries(all) };
}

test('only the owner, and the owner before the cloud named another, may see the code and end remote access', async () => {
  const env = { CLOUD_HOST: `ws://127.0.0.1:${await findFreePort()}` };
  const allowed = {
    'GET /api/cloud/status': ['member', 'admin', 'owner at home', 'owner'],
    'GET /api/cloud/activity': ['member', 'admin', 'owner at home', 'owner'],
    'GET /api/cloud/dead-letters': ['admin', 'owner at home', 'owner'],
    'POST /api/cloud/dead-letters/send': ['admin', 'owner at home', 'owner'],
    'GET /api/cloud/claim': ['owner at home', 'owner'],
  };
  for (const who of ['owner at home', 'owner']) {
    await using running = await runBackend({ env });
    const people = await peopleOf(running);
    const ask = async (route: string, headers: Record<string, string>): Promise<number> => {
      const [method, url] = route.split(' ') as ['GET' | 'POST', string];
      return (await running.http.inject({ method, url, headers })).statusCode;
    };
    for (const [route, may] of Object.entries(allowed)) {
      for (const [name, headers] of Object.entries(people)) {
        const expected = name === 'nobody' ? 401 : may.includes(name) ? 200 : 403;
        assert.equal(await ask(route, headers), expected, `${route} for ${name}`);
      }
    }
    const unclaim = 'POST /api/cloud/unclaim';
    assert.equal(await ask(unclaim, people['nobody'] ?? {}), 401);
    for (const name of ['member', 'admin']) assert.equal(await ask(unclaim, people[name] ?? {}), 403, name);
    assert.equal(await ask(unclaim, people[who] ?? {}), 204, who);
    assert.equal(
      await ask('GET /api/auth/me', people['owner'] ?? {}),
      401,
      'the role in the token is no longer theirs',
    );
    const { email, password } = owner;
    const login = await running.http.inject({ method: 'POST', url: '/api/auth/login', payload: { email, password } });
    assert.equal(login.json<Session>().user.role, 'owner');
    assert.equal(await ask('GET /api/cloud/claim', bearer(login.json<Session>().accessToken)), 200);
  }
});

test('a person sees that they were the owner before the cloud named another', async () => {
  await using running = await runBackend();
  const people = await peopleOf(running);
  const me = async (who: string) =>
    (await running.http.inject({ url: '/api/auth/me', headers: people[who] ?? {} })).json<Session['user']>();
  assert.deepEqual([(await me('owner at home')).role, (await me('owner at home')).wasOwner], ['admin', true]);
  assert.equal((await me('owner')).wasOwner, undefined);
});
