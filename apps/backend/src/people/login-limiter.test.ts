import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashToken, newToken } from '../core/secrets.ts';
import { createMember } from '../../testing/test-member.ts';
import { manualClock } from '../../testing/manual-clock.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { type Attempt, createLoginLimiter, type LoginLimiter, setupAccount } from './login-limiter.ts';
import { createLoginMemory, type LoginMemory } from './login-memory.ts';

const minutes = 60_000;
const account = 'olena@example.org';

const noMemory: LoginMemory = {
  read: async () => [],
  keep: async () => undefined,
  forget: async () => undefined,
  isKnown: async () => false,
  remember: async () => undefined,
  isKnownDevice: async () => false,
  rememberDevice: async () => undefined,
};
const newLimiter = (clock = manualClock()): LoginLimiter => createLoginLimiter({ clock, memory: noMemory });

/** @returns how many of the attempts at once were allowed. */
async function allowedOf(limiter: LoginLimiter, attempts: readonly Parameters<typeof by>[]): Promise<number> {
  let allowed = 0;
  for (const attempt of attempts) if ((await limiter.attempt(by(...attempt))).allowed) allowed++;
  return allowed;
}
const by = (account: string, address: string, device: string | null = null): Attempt => ({ account, address, device });
const hex = (index: number): string => index.toString(16);
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

test('a change of the wall clock does not change the waiting time', async () => {
  const time = { wall: 100 * minutes, steady: 0 };
  const clock = { ...manualClock(), now: () => time.wall, monotonic: () => time.steady };
  const limiter = newLimiter(clock);
  assert.equal(
    await allowedOf(
      limiter,
      times(7, () => [account, '192.0.2.1']),
    ),
    5,
  );
  for (const set of [-60 * minutes, 120 * minutes]) {
    time.wall += set;
    assert.deepEqual(await limiter.attempt(by(account, '192.0.2.1')), { allowed: false, retryAfterMs: 30_000 });
  }
  time.wall -= 60 * minutes;
  time.steady += 30_000;
  assert.deepEqual(await limiter.attempt(by(account, '192.0.2.1')), { allowed: true, isKnown: false });
});

test('an attacker with a whole IPv6 network has the attempts of one address', async () => {
  const limiter = newLimiter();
  const attempts = times(9, (index): [string, string] => [account, `2001:db8::${hex(index)}`]);
  assert.equal(await allowedOf(limiter, attempts), 5);
  assert.equal(await allowedOf(limiter, [[account, '2001:db8:0:1::1']]), 1, 'another network');
});

test('an attacker who takes another /64 for each attempt has the budget of the /56 or the /48', async () => {
  const attemptsOf = (networkOf: (index: number) => string): Promise<number> =>
    allowedOf(
      newLimiter(),
      times(200, (index) => [`${index}@example.org`, `${networkOf(index)}::1`]),
    );
  assert.equal(await attemptsOf((index) => `2001:db8:0:${hex(index)}`), 40, 'one /56');
  assert.equal(await attemptsOf((index) => `2001:db8:0:${hex(256 * index)}`), 50, 'one /48');
  assert.equal(await attemptsOf((index) => `2001:db8:${hex(index)}:1`), 200, 'other subscribers');
});

test('guesses at an account from everywhere do not delay its owner in a network used before', async () => {
  const clock = manualClock();
  await using store = await openTestStore();
  const limiter = createLoginLimiter({ clock, memory: createLoginMemory(store.db, assert.ifError) });
  const userId = await createMember(store.db, account);
  assert.equal((await limiter.attempt(by(account, '2001:db8:aa::1'))).allowed, true);
  await limiter.succeeded(by(account, '2001:db8:aa::1'), userId);
  assert.equal(
    await allowedOf(
      limiter,
      times(300, (index) => [account, `198.51.100.${index % 250}`]),
    ),
    100,
  );
  assert.equal((await limiter.attempt(by(account, '203.0.113.5'))).allowed, false, 'a network not known before');
  assert.equal(
    await allowedOf(
      limiter,
      times(9, () => [account, '2001:db8:aa::2']),
    ),
    5,
    'a known one has its own attempts',
  );
});

test('a neighbour with many addresses keeps the owner out of no other network, with a mistyped password too', async () => {
  const guesses = (addresses: number) =>
    times(5 * addresses, (index): [string, string] => [account, `198.51.100.${index % addresses}`]);
  for (const addresses of [12, 20]) {
    const limiter = newLimiter();
    assert.equal(await allowedOf(limiter, guesses(addresses)), 60);
    assert.equal((await limiter.attempt(by(account, '198.51.100.1'))).allowed, false, 'the neighbour waits');
    const own = times(4, (): [string, string] => [account, '203.0.113.5']);
    assert.equal(await allowedOf(limiter, own), 3, `${addresses} addresses`);
    await limiter.succeeded(by(account, '203.0.113.5'), null);
    assert.equal((await limiter.attempt(by(account, '203.0.113.5'))).allowed, true, 'after a log-in');
  }
});

test('a delay outlasts a restart, also beside a clock that jumps back; it ends with a log-in', async () => {
  const clock = manualClock();
  await using store = await openTestStore();
  const restart = (): LoginLimiter =>
    createLoginLimiter({ clock, memory: createLoginMemory(store.db, assert.ifError) });
  const attempts = times(5, (): [string, string] => [account, '192.0.2.1']);
  assert.equal(await allowedOf(restart(), attempts), 5);
  assert.deepEqual(await restart().attempt(by(account, '192.0.2.1')), { allowed: false, retryAfterMs: 30_000 });
  clock.advance(-1_000 * minutes);
  assert.deepEqual(await restart().attempt(by(account, '192.0.2.1')), { allowed: false, retryAfterMs: 30_000 });
  clock.advance(1_001 * minutes);
  const limiter = restart();
  assert.equal((await limiter.attempt(by(account, '192.0.2.1'))).allowed, true);
  await limiter.succeeded(by(account, '192.0.2.1'), null);
  assert.equal(await allowedOf(restart(), attempts), 5, 'all attempts again');
});

test('a browser that logged in before waits for nobody else: neither at home nor elsewhere', async () => {
  const clock = manualClock();
  await using store = await openTestStore();
  const memory = createLoginMemory(store.db, assert.ifError);
  const limiter = createLoginLimiter({ clock, memory });
  const userId = await createMember(store.db, account);
  const phone = newToken();
  await memory.rememberDevice(userId, { tokenHash: hashToken(phone), sessionId: 's' }, clock.now());
  // From everywhere, and from the address that the phone has now.
  const guesses = times(300, (index): [string, string] => [account, `198.51.100.${index % 250}`]);
  await allowedOf(limiter, guesses);
  await allowedOf(
    limiter,
    times(50, (index): [string, string] => [`${index}@example.org`, '203.0.113.5']),
  );
  assert.equal((await limiter.attempt(by(account, '203.0.113.5'))).allowed, false);
  assert.deepEqual(await limiter.attempt(by(account, '203.0.113.5', phone)), { allowed: true, isKnown: true });
  await limiter.succeeded(by(account, '203.0.113.5', phone), userId);
  // Who has the cookie guesses no faster.
  const stolen = times(20, (): [string, string, string] => [account, '203.0.113.5', phone]);
  assert.equal(await allowedOf(limiter, stolen), 10);
  assert.equal(
    (await limiter.attempt(by('other@example.org', '203.0.113.5', phone))).allowed,
    false,
    'another account',
  );
  assert.equal((await limiter.attempt(by(account, '203.0.113.5', 'forged'))).allowed, false);
});

test('wrong set-up codes from everywhere keep nobody from the set-up elsewhere', async () => {
  const limiter = newLimiter();
  await allowedOf(
    limiter,
    times(1_000, (index) => [setupAccount, `198.51.100.${index % 100}`]),
  );
  assert.equal((await limiter.attempt(by(setupAccount, '198.51.100.1'))).allowed, false);
  assert.equal((await limiter.attempt(by(setupAccount, '203.0.113.5'))).allowed, true);
});
