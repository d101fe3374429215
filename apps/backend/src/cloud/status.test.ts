import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { systemClock } from '@station/kit/clock';
import { nodeDisk } from '@station/kit/durable-files';
import { openSecretBox } from '../store/secret-box.ts';
import { recordedLog } from '../../testing/recorded-log.ts';
import { openTestStore } from '../../testing/test-store.ts';
import { createCloudConfigStore } from './cloud-config-store.ts';
import type { LinkView } from './link-decide.ts';
import { createDeadLetterStore } from './dead-letter-store.ts';
import { createOutboxStore } from './outbox-store.ts';
import {
  type CloudFacts,
  conditionsOf,
  createCloudConditions,
  createStatusReader,
  createWallTimes,
  unreachableAfterMs,
} from './status.ts';

const clock = systemClock;
const nothing = { authenticatedAtMs: null, lastError: null, trouble: null, downSinceMs: null, nextAttemptAtMs: null };
const view = (more: Partial<LinkView> & Pick<LinkView, 'state'>) => ({ ...nothing, receivedAtMs: null, ...more });

async function open() {
  const store = await openTestStore();
  const outbox = createOutboxStore(store);
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
      deadLetters: createDeadLetterStore({ db: store.db, clock }),
      conditions: createCloudConditions({ clock, logger: recordedLog() }),
      askedAt: () => null,
      clock,
    });
  const read = async (key: Buffer, seen: ReturnType<typeof view> | null) => (await reader(key, seen))();
  return { configWith, reader, read, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
}

test('a backend that does not hold the link says so, and shows no link details', async () => {
  await using all = await open();
  const key = randomBytes(32);
  await (await all.configWith(key)).claim('token');
  const { isHeldHere, state, conditions, claimedAt } = await all.read(key, null);
  assert.deepEqual([isHeldHere, state, conditions], [false, 'offline', []]);
  assert.ok(claimedAt !== null);
  assert.equal((await all.read(key, view({ state: 'authenticated' }))).isHeldHere, true);
});

test('without the encryption key of the log-in the station is unclaimed, and shows the reason', async () => {
  await using all = await open();
  await (await all.configWith(randomBytes(32))).claim('token');
  const { state, claimedAt, conditions } = await all.read(randomBytes(32), view({ state: 'unclaimed' }));
  assert.deepEqual([state, claimedAt], ['unclaimed', null]);
  assert.deepEqual(
    conditions.map(({ id }) => id),
    ['cloud_key_lost'],
  );
});

test('without events, a second read gives the same times to the millisecond', async () => {
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

const now = Date.parse('2026-11-21T12:00:00Z');
const link = { isRejected: false, trouble: null, downSince: null };
const well: CloudFacts = {
  now,
  isClaimed: true,
  isKeyLost: false,
  link,
  outbox: { bytes: 0, maxBytes: 1_000, dropped: 0 },
  deadLetters: { count: 0, oldestAt: null },
};
const outbox = (bytes: number, dropped = 0): Partial<CloudFacts> => ({ outbox: { bytes, maxBytes: 1_000, dropped } });
const longAgo = now - unreachableAfterMs;

const cases: [string, Partial<CloudFacts>, string[]][] = [
  ['all is well', {}, []],
  ['away for a little while', { link: { ...link, downSince: longAgo + 1 } }, []],
  ['away for long', { link: { ...link, downSince: longAgo } }, ['cloud_unreachable']],
  ['away for long, and nobody has claimed it', { isClaimed: false, link: { ...link, downSince: longAgo } }, []],
  ['rejected', { link: { ...link, isRejected: true, downSince: longAgo } }, ['cloud_rejected']],
  [
    'not to be trusted',
    { link: { ...link, trouble: 'certificate', downSince: longAgo } },
    ['cloud_certificate_untrusted'],
  ],
  ['not valid yet', { link: { ...link, trouble: 'clock', downSince: longAgo } }, ['cloud_clock_wrong']],
  ['the key is gone', { isClaimed: false, isKeyLost: true }, ['cloud_key_lost']],
  ['four fifths full', outbox(800), ['cloud_outbox_nearly_full']],
  ['less than that', outbox(799), []],
  ['full, and nothing lost yet', outbox(1_000), ['cloud_outbox_nearly_full']],
  ['full, and the oldest dropped', outbox(985, 3), ['cloud_outbox_full']],
  ['emptied since something was dropped', outbox(10, 3), []],
  ['full, of a station that nobody claimed', { isClaimed: false, ...outbox(1_000, 3) }, []],
  ['dead letters', { deadLetters: { count: 1, oldestAt: now - 5 } }, ['cloud_dead_letters']],
  ['another backend holds the link', { link: null, deadLetters: { count: 1, oldestAt: 1 } }, ['cloud_dead_letters']],
];

for (const [name, facts, expected] of cases) {
  test(`conditions of the cloud link: ${name}`, () => {
    assert.deepEqual(
      conditionsOf({ ...well, ...facts }).map(({ id }) => id),
      expected,
    );
  });
}

test('a condition keeps its start time, and its start and end are logged', () => {
  const logger = recordedLog();
  const clock = { ...systemClock, now: () => now };
  const standing = createCloudConditions({ clock, logger });
  const down = { ...well, link: { ...link, downSince: longAgo } };
  const [first] = standing.update(down);
  assert.equal(first?.since, new Date(longAgo).toISOString(), 'since the link is down, not since it counts as long');
  assert.deepEqual(standing.update({ ...down, now: now + 60_000 }), [first]);
  assert.deepEqual(standing.update(well), []);
  const [again] = standing.update({ ...well, link: { ...link, isRejected: true } });
  assert.equal(again?.since, new Date(now).toISOString());
  const told = logger.lines.filter((line) => line.includes('cloud_condition_'));
  assert.equal(told.length, 3, told.join('\n'));
});

function openWall() {
  const time = { now: 1_000_000, monotonic: 500 };
  const wall = createWallTimes({ ...systemClock, now: () => time.now, monotonic: () => time.monotonic });
  return { time, wall };
}

test('a moment keeps its time while clocks drift, and gets a new time when the clock is set', () => {
  const { time, wall } = openWall();
  assert.equal(wall('connected', 400), 999_900);
  Object.assign(time, { now: 1_000_101, monotonic: 600 });
  assert.equal(wall('connected', 400), 999_900, 'a millisecond more by one of them');
  time.now += 3_600_000;
  assert.equal(wall('connected', 400), 4_599_901);
});

test('another moment has another time, and null stays null', () => {
  const { wall } = openWall();
  assert.equal(wall('heard', 400), 999_900);
  assert.equal(wall('heard', 401), 999_901);
  assert.equal(wall('connected', 400), 999_900);
  assert.equal(wall('heard', null), null);
});
