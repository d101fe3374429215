import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { bearer, owner, refreshCookie, runBackend } from '../../testing/running-backend.ts';
import { testPasskey } from '../../testing/test-passkey.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { testOnSqlite } from '../../testing/test-postgres.ts';
import { resetOwner } from './reset-owner.ts';

testOnSqlite(
  'the owner gets a new password while the backend runs; the old one, passkeys and all sessions have ended',
  async () => {
    await using running = await runBackend();
    const { http, dataDir } = running;
    const { user } = await running.setUp();
    const { db } = running.backend;
    await db.insertInto('passkeys').values(testPasskey(user.id)).execute();
    const logIn = (password: string) =>
      http.inject({ method: 'POST', url: '/api/auth/login', payload: { email: owner.email, password } });
    const before = await logIn(owner.password);
    const made = await resetOwner({ kind: 'sqlite', file: join(dataDir, 'station.sqlite') });
    assert.ok(made.kind === 'made');
    assert.equal(made.email, owner.email);
    assert.equal((await logIn(owner.password)).statusCode, 401);
    assert.deepEqual(await db.selectFrom('passkeys').select('id').execute(), []);
    const headers = { cookie: refreshCookie(before) };
    assert.equal((await http.inject({ method: 'POST', url: '/api/auth/refresh', headers })).statusCode, 401);
    const after = await logIn(made.password);
    assert.equal(after.json().user.role, 'owner');
    const me = await http.inject({ url: '/api/auth/me', headers: bearer(after.json().accessToken) });
    assert.equal(me.statusCode, 200);
  },
);

testOnSqlite('a station without an owner or without a database has none to reset', async () => {
  await using running = await runBackend();
  const file = join(running.dataDir, 'station.sqlite');
  assert.deepEqual(await resetOwner({ kind: 'sqlite', file }), { kind: 'no_owner' });
});

test('no database is made where there is none', async () => {
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'station.sqlite');
  assert.deepEqual(await resetOwner({ kind: 'sqlite', file }), { kind: 'no_owner' });
  assert.deepEqual(await resetOwner({ kind: 'sqlite', file }), { kind: 'no_owner' }, 'the first try made none');
});
