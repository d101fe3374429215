import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createStandingConditions, conditionsOf, unreachableAfterMs, type CloudFacts } from './conditions.ts';
import { systemClock } from '@station/kit/clock';
import { recordedLog } from '../testing/recorded-log.ts';

const now = Date.parse('2026-11-21T12:00:00Z');
const link = { isRejected: false, trouble: null, downSince: null };
const well: CloudFacts = {
  now,
  isClaimed: true,
  isKeyLost: false,
  link,
  outbox: { bytes: 0, maxBytes: 1_000, dropped: 0 },
  setAside: { count: 0, oldestAt: null },
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
  ['set aside', { setAside: { count: 1, oldestAt: now - 5 } }, ['cloud_messages_set_aside']],
  ['another backend holds the link', { link: null, setAside: { count: 1, oldestAt: 1 } }, ['cloud_messages_set_aside']],
];

for (const [name, facts, expected] of cases) {
  test(`conditions of the cloud link: ${name}`, () => {
    assert.deepEqual(
      conditionsOf({ ...well, ...facts }).map(({ id }) => id),
      expected,
    );
  });
}

test('a condition keeps the time at which it began, and is logged as it comes and goes', () => {
  const logger = recordedLog();
  const clock = { ...systemClock, now: () => now };
  const standing = createStandingConditions({ clock, logger });
  const down = { ...well, link: { ...link, downSince: longAgo } };
  const [first] = standing.look(down);
  assert.equal(first?.since, new Date(longAgo).toISOString(), 'since the link is down, not since it counts as long');
  assert.deepEqual(standing.look({ ...down, now: now + 60_000 }), [first]);
  assert.deepEqual(standing.look(well), []);
  const [again] = standing.look({ ...well, link: { ...link, isRejected: true } });
  assert.equal(again?.since, new Date(now).toISOString());
  const told = logger.lines.filter((line) => line.includes('cloud_condition_'));
  assert.equal(told.length, 3, told.join('\n'));
});
