import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Role } from '@station/protocol/roles';
import { manualClock } from '../../testing/manual-clock.ts';
import { type AccessTokens, createAccessTokens, type FindHolder, type SessionHolder } from './access-tokens.ts';

const minutes = 60_000;
const petro = { userId: 'petro', role: 'member', sessionId: 'phone', endsAt: null } as const;

function withTokens() {
  const clock = manualClock();
  /** What the database has: session → user. */
  const open = new Map<string, { userId: string; role: Role; endsAt: number | null }>();
  let lookups = 0;
  const findHolder: FindHolder = async (sessionId) => {
    lookups++;
    return open.get(sessionId) ?? null;
  };
  const begin = (): AccessTokens =>
    createAccessTokens({ secret: 'a secret of the configuration, 32+ bytes', clock, findHolder });
  const tokens = begin();
  const issue = async (user: SessionHolder): Promise<string> => (await tokens.issue(user, tokens.moment())).token;
  const isGood = async (token: string): Promise<boolean> => (await tokens.verify(token)) !== null;
  return { clock, tokens, begin, open, lookups: () => lookups, issue, isGood };
}

test('a revocation ends earlier tokens and no later ones, also within one millisecond', async () => {
  const { tokens, issue, isGood } = withTokens();
  const before = await issue(petro);
  tokens.revoke('petro');
  const after = await issue(petro);
  assert.deepEqual([await isGood(before), await isGood(after)], [false, true]);
  tokens.revoke('petro');
  assert.deepEqual([await isGood(after), await isGood(await issue(petro))], [false, true]);
});

test('a clock that is set back after a revocation rejects no new token and accepts no revoked one', async () => {
  const { clock, tokens, issue, isGood } = withTokens();
  const before = await issue(petro);
  clock.advance(5 * minutes);
  tokens.revoke('petro');
  clock.advance(-10 * minutes);
  const after = await issue(petro);
  assert.equal(await isGood(after), true);
  assert.equal(await isGood(before), false);
  clock.advance(minutes);
  tokens.revoke('petro');
  assert.equal(await isGood(after), false, 'the next revocation ends it');
  assert.equal(await isGood(await issue(petro)), true);
});

test('a revoked session ends its own tokens and no others of the user', async () => {
  const { tokens, issue, isGood } = withTokens();
  const phone = await issue(petro);
  const laptop = await issue({ ...petro, sessionId: 'laptop' });
  tokens.revoke('phone');
  assert.deepEqual([await isGood(phone), await isGood(laptop)], [false, true]);
});

test('after a restart a token is as good as its session and its role in the database', async () => {
  const { begin, open, lookups, issue } = withTokens();
  const member = await issue(petro);
  const admin = await issue({ ...petro, role: 'admin' });
  const later = begin();
  assert.equal(await later.verify(member), null, 'the session has ended');
  open.set('phone', { userId: 'petro', role: 'member', endsAt: null });
  assert.equal((await later.verify(member))?.sessionId, 'phone');
  assert.equal(await later.verify(admin), null, 'the role was taken away');
  open.set('phone', { userId: 'olena', role: 'admin', endsAt: null });
  assert.equal(await later.verify(admin), null, 'somebody else');
  const asked = lookups();
  assert.ok(await later.verify(member));
  assert.equal(lookups(), asked, 'it is looked up once');
});

test('the end of a guest that another process moved counts here too', async () => {
  const { clock, tokens, begin, open, isGood } = withTokens();
  const guest = { userId: 'petro', role: 'guest', sessionId: 'phone' } as const;
  const endsAt = clock.now() + minutes;
  assert.equal(await isGood((await tokens.issue({ ...guest, endsAt }, tokens.moment())).token), true);
  const other = begin();
  other.onRevoke((id, { at }) => tokens.takeOver(id, at));
  other.revoke('petro');
  open.set('phone', { ...guest, endsAt: endsAt + 5 * minutes });
  const moved = await other.issue({ ...guest, endsAt: endsAt + 5 * minutes }, other.moment());
  assert.equal(await isGood(moved.token), true);
});

test('a session that is revoked while it is looked up lets no token pass', async () => {
  const { clock, issue } = withTokens();
  const token = await issue(petro);
  const later: AccessTokens = createAccessTokens({
    secret: 'a secret of the configuration, 32+ bytes',
    clock,
    findHolder: async () => {
      later.revoke('phone');
      return { userId: 'petro', role: 'member', endsAt: null };
    },
  });
  assert.equal(await later.verify(token), null);
});
