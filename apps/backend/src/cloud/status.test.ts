import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/files';
import { openSecretBox } from '../store/secret-box.ts';
import { recordedLog } from '../testing/recorded-log.ts';
import { openTestStore } from '../testing/test-store.ts';
import { createCloudConfigStore } from './cloud-config-store.ts';
import { createStandingConditions } from './conditions.ts';
import type { LinkView } from './link-machine.ts';
import { createOutboxStore } from './outbox-store.ts';
import { createStatusReader } from './status.ts';

const clock = systemClock;
const nothing = { authenticatedAtMs: null, lastError: null, trouble: null, downSinceMs: null, nextAttemptAtMs: null };
const view = (more: Partial<LinkView> & Pick<LinkView, 'state'>) => ({ ...nothing, heardAtMs: null, ...more });

async function open() {
  const store = await openTestStore();
  const outbox = createOutboxStore({ ...store, clock });
  const configWith = async (key: Buffer) => {
    const box = await openSecretBox({ disk: nodeDisk, path: '/nowhere', key });
    return createCloudConfigStore({ db: store.db, box, clock });
  };
  const reader = async (key: Buffer, seen: ReturnType<typeof view> | null) =>
    createStatusReader({
      host: 'cloud.example.org',
      maxBytes: 1_000_000,
      view: () => seen,
      config: await configWith(key),
      outbox,
      conditions: createStandingConditions({ clock, logger: recordedLog() }),
      askedAt: () => null,
      clock,
    });
  const read = async (key: Buffer, seen: ReturnType<typeof view> | null) => (await reader(key, seen))();
  return { configWith, reader, read, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

test('a backend that does not hold the link says so, and pretends to know nothing of it', async () => {
  await using all = await open();
  const key = randomBytes(32);
  await (await all.configWith(key)).claim('token');
  const { isHeldHere, state, conditions, claimedAt } = await all.read(key, null);
  assert.deepEqual([isHeldHere, state, conditions], [false, 'offline', []]);
  assert.ok(claimedAt !== null);
  assert.equal((await all.read(key, view({ state: 'authenticated' }))).isHeldHere, true);
});

test('without the key the log-in was kept with, the station is nobody’s, and says what happened', async () => {
  await using all = await open();
  await (await all.configWith(randomBytes(32))).claim('token');
  const { state, claimedAt, conditions } = await all.read(randomBytes(32), view({ state: 'unclaimed' }));
  assert.deepEqual([state, claimedAt], ['unclaimed', null]);
  assert.deepEqual(
    conditions.map(({ id }) => id),
    ['cloud_key_lost'],
  );
});

test('read again while nothing happens, it is the same to the millisecond', async () => {
  await using all = await open();
  const key = randomBytes(32);
  const seen = view({ state: 'offline', downSinceMs: clock.monotonic(), nextAttemptAtMs: clock.monotonic() + 1.7 });
  await (await all.configWith(key)).claim('token');
  const reader = await all.reader(key, seen);
  const before = await reader();
  assert.ok(before.nextAttemptAt !== null);
  for (let n = 0; n < 20; n += 1) {
    await clock.sleep(1);
    assert.deepEqual(await reader(), before);
  }
});
