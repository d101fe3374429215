import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAccessTokens } from '../core/access-tokens.ts';
import { alwaysTrusted } from '../core/trusted-time.ts';
import { setLimits } from '../store/member-limits.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { steppedClock } from '../../testing/stepped-clock.ts';
import { createMember } from '../../testing/test-member.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { until } from '../../testing/until.ts';
import { startGuestEnds } from './guest-ends.ts';
import { createSessions, findSessionHolder, refreshKeyOf } from './sessions.ts';

const hour = 3_600_000;
const secret = 'a secret of the configuration, 32+ bytes';
const phone = { address: '192.0.2.1', userAgent: null, device: null };

/** A guest with a session, whose access ends in an hour. */
async function withGuest() {
  await using opening = new AsyncDisposableStack();
  const store = opening.use(await openTestStore());
  const { db } = store;
  const clock = steppedClock();
  const ages = { areTrue: true };
  const trustedTime = { ...alwaysTrusted, areAgesTrue: () => ages.areTrue };
  const sessions = createSessions({ db, key: refreshKeyOf(secret), clock, trustedTime });
  const tokens = createAccessTokens({ secret, clock, findHolder: (id) => findSessionHolder(db, id) });
  const userId = await createMember(db, 'taras@example.org');
  await db.updateTable('users').set({ station_password_hash: 'a hash' }).execute();
  const endAt = (endsAt: number) =>
    db.transaction().execute((transaction) => setLimits(transaction, userId, { role: 'guest', zoneIds: [], endsAt }));
  await endAt(clock.now() + hour);
  const opened = await sessions.open(userId, 'a hash', phone);
  assert.ok(opened);
  const revoked: string[] = [];
  tokens.onRevoke((id) => revoked.push(id));
  const logger = recordedLog();
  const start = () => startGuestEnds({ db, accessTokens: tokens, clock, trustedTime, logger });
  const left = async (): Promise<number> => (await db.selectFrom('sessions').select('id').execute()).length;
  const all = opening.move();
  return {
    db,
    clock,
    ages,
    sessions,
    tokens,
    userId,
    opened,
    revoked,
    start,
    left,
    endAt,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

test('at the end the sessions of a guest end, and nothing is done before it', async () => {
  await using all = await withGuest();
  const { clock, revoked, left, opened } = all;
  await using _ends = all.start();
  await clock.advance(hour - 1);
  assert.deepEqual([revoked, await left()], [[], 1]);
  await until('the sessions end', async () => {
    await clock.advance(10_000);
    return (await left()) === 0;
  });
  assert.deepEqual(revoked, [all.userId], 'what is open is closed once');
  assert.equal(await all.sessions.open(all.userId, 'a hash', phone), null, 'nobody logs in after it');
  assert.equal((await all.sessions.rotate(opened.token, phone)).kind, 'unknown');
});

test('a token of a guest ends with their access, without the tolerance of other tokens', async () => {
  await using all = await withGuest();
  const { clock, tokens, userId, opened } = all;
  const endsAt = clock.now() + 60_000;
  await all.endAt(endsAt);
  const holder = { userId, role: 'guest', sessionId: opened.id, endsAt } as const;
  const { token, expiresAt } = await tokens.issue(holder, tokens.moment());
  assert.equal(expiresAt, endsAt);
  await clock.advance(59_999);
  assert.ok(await tokens.verify(token));
  await clock.advance(1);
  assert.equal(await tokens.verify(token), null);
});

test('an end that was moved to an earlier time holds after a restart that forgot the revocation', async () => {
  await using all = await withGuest();
  const { clock, tokens, userId, opened } = all;
  const holder = { userId, role: 'guest', sessionId: opened.id, endsAt: clock.now() + hour } as const;
  const { token } = await tokens.issue(holder, tokens.moment());
  await all.endAt(clock.now() + 60_000);
  assert.ok(await tokens.verify(token), 'this process was not told');
  const { db } = all;
  const restarted = createAccessTokens({ secret, clock, findHolder: (id) => findSessionHolder(db, id) });
  assert.equal(await restarted.verify(token), null);
});

test('while the clock is not known to be right a guest is kept out, but no session is lost', async () => {
  await using all = await withGuest();
  const { clock, ages, sessions, opened, revoked, left } = all;
  ages.areTrue = false;
  await using _ends = all.start();
  await until('what is open is closed', async () => {
    await clock.advance(hour / 2);
    return revoked.length > 0;
  });
  assert.equal((await sessions.rotate(opened.token, phone)).kind, 'expired');
  await all.endAt(clock.now() + hour);
  await clock.advance(20_000);
  assert.equal(await left(), 1);
  assert.equal(
    (await sessions.rotate(opened.token, phone)).kind,
    'rotated',
    'the end was moved, or the clock came back',
  );
  ages.areTrue = true;
  await all.endAt(clock.now());
  await until('the session ends', async () => {
    await clock.advance(10_000);
    return (await left()) === 0;
  });
});
