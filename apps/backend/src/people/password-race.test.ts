import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeDisk } from '@station/kit/durable-files';
import { createAccessTokens } from '../core/access-tokens.ts';
import { createStationStore, createUserStore, ensureStation } from '../store/station-store.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { temporaryFolder } from '../../testing/temporary-folder.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createAuthService } from './auth-service.ts';
import { createFirstRun } from './first-run.ts';
import { createLoginLimiter } from './login-limiter.ts';
import { createLoginMemory } from './login-memory.ts';
import { createMemberService } from './member-service.ts';
import { createPasswordHashes } from './password-hashes.ts';
import { createPasswords } from './passwords.ts';
import { createSessions, findSessionHolder, refreshKeyOf } from './sessions.ts';
import { createSetupCode } from './setup-code.ts';

const email = 'maria@example.org';
const old = 'the password of before';
const next = 'another long password';
const address = '192.0.2.1';
const phone = { address, userAgent: null, device: null };

/** The services behind /api/auth. `between` runs once, in the middle of the next log-in or renewal. */
async function accounts() {
  await using opening = new AsyncDisposableStack();
  const { db } = opening.use(await openTestStore());
  const folder = opening.use(await temporaryFolder());
  const clock = manualClock();
  await ensureStation(db, { stationId: 'station', generateId: () => '', timeZone: 'Europe/Kyiv', clock });
  const accessTokens = createAccessTokens({
    secret: 'a secret of the configuration, 32+ bytes',
    clock,
    findHolder: (sessionId) => findSessionHolder(db, sessionId),
  });
  const sessions = createSessions({ db, key: refreshKeyOf('a secret of the configuration, 32+ bytes'), clock });
  const passwords = createPasswords(createPasswordHashes());
  const memory = createLoginMemory(db, assert.ifError);
  const users = createUserStore(db);
  const between: (() => Promise<unknown>)[] = [];
  const auth = createAuthService({
    db,
    users: {
      ...users,
      findById: async (id) => {
        await between.shift()?.();
        return users.findById(id);
      },
    },
    station: createStationStore(db),
    sessions,
    accessTokens,
    passwords: {
      ...passwords,
      matches: async (password, hash) => {
        const matches = await passwords.matches(password, hash);
        await between.shift()?.();
        return matches;
      },
    },
    setupCode: createSetupCode({ disk: nodeDisk, path: `${folder.path}/code`, stationCode: null }),
    firstRun: createFirstRun(),
    limiter: createLoginLimiter({ clock, memory }),
    memory,
    clock,
    logger: recordedLog(),
  });
  const members = createMemberService({ db, passwords, sessions, accessTokens, clock });
  const added = await members.add(
    { email, name: 'Maria', password: old },
    { role: 'member', zoneIds: [], endsAt: null },
    { role: 'owner' },
  );
  assert.equal(added.kind, 'added');
  const userId = added.kind === 'added' ? added.member.userId : '';
  const opened = opening.move();
  return {
    auth,
    sessions,
    accessTokens,
    userId,
    between,
    logIn: (password = old) => auth.login(email, password, phone),
    countSessions: async () => (await db.selectFrom('sessions').select('id').execute()).length,
    changes: {
      'her own change': () =>
        auth.changePassword(userId, { current: old, next }, { client: phone, refreshToken: undefined }),
      'one by the owner': () => members.makePassword(userId, { role: 'owner' }),
      'her removal': () => members.remove(userId, { role: 'owner' }),
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

const kinds = ['her own change', 'one by the owner', 'her removal'] as const;

test('a log-in with the old password opens no session when the password changes meanwhile', async () => {
  for (const kind of kinds) {
    await using all = await accounts();
    all.between.push(all.changes[kind]);
    assert.equal((await all.logIn()).kind, 'wrong_credentials', kind);
    assert.equal(await all.countSessions(), 0, kind);
  }
});

test('a renewal during a change of the password returns no valid token', async () => {
  for (const kind of kinds) {
    await using all = await accounts();
    const session = await all.logIn();
    assert.equal(session.kind, 'opened');
    all.between.push(all.changes[kind]);
    const renewed = await all.auth.refresh(session.kind === 'opened' ? session.refreshToken : '', phone);
    if (renewed.kind === 'opened') assert.equal(await all.accessTokens.verify(renewed.accessToken), null, kind);
    assert.equal(await all.countSessions(), 0, kind);
  }
});

test('sessions opened during a change of the password end with it', async () => {
  await using all = await accounts();
  for (let round = 0; round < 10; round++) {
    await Promise.all([
      ...Array.from({ length: 3 }, () => all.sessions.open(all.userId, `hash ${round}`, phone)),
      all.sessions.replacePassword(all.userId, `hash ${round + 1}`),
      ...Array.from({ length: 3 }, () => all.sessions.open(all.userId, `hash ${round}`, phone)),
    ]);
    assert.equal(await all.countSessions(), 0, `round ${round}`);
  }
});

test('of two concurrent changes of one password one succeeds', async () => {
  await using all = await accounts();
  // The second: after the old password was found to be right.
  all.between.push(async () => undefined, all.changes['one by the owner']);
  assert.equal((await all.changes['her own change']()).kind, 'wrong_password');
  assert.equal((await all.logIn(next)).kind, 'wrong_credentials');
});
