import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../testing/manual-clock.ts';
import { createAccessTokens } from './access-tokens.ts';

const minutes = 60_000;
const petro = { id: 'petro', role: 'member' } as const;

function withTokens() {
  const clock = manualClock();
  const tokens = createAccessTokens({ secret: 'a secret of the configuration, 32+ bytes', clock });
  const issue = async (user: typeof petro): Promise<string> => (await tokens.issue(user, tokens.moment())).token;
  const isGood = async (token: string): Promise<boolean> => (await tokens.verify(token)) !== null;
  return { clock, tokens, issue, isGood };
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
