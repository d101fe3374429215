import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  dayMs,
  decideEarlierSteps,
  decideStart,
  decideTime,
  earliestMs,
  type KeptTime,
  type StartFacts,
  type TimeFacts,
  type TimeStart,
  type TimeStep,
} from './station-time-decide.ts';

const now = Date.UTC(2026, 10, 23, 12);
const minute = 60_000;
const year = 365 * dayMs;
const kept: KeptTime = {
  bootId: 'a',
  uptimeMs: 10 * minute,
  atMs: now,
  wallMs: now,
  isTrusted: true,
  followedMs: 0,
  aheadFromMs: null,
  holdMs: 0,
};
const booted: StartFacts = { wallMs: now + minute, bootId: 'b', uptimeMs: minute, kept, newestMs: now - minute };
const sameBoot: StartFacts = { ...booted, bootId: 'a', uptimeMs: 11 * minute };
const unsure: KeptTime = { ...kept, wallMs: 5_000, isTrusted: false, holdMs: dayMs };

const jumped: KeptTime = { ...unsure, wallMs: now, followedMs: year, aheadFromMs: now - dayMs, holdMs: 5 * minute };
const noJump = { followedMs: 0, aheadFromMs: null, isLateReturn: false };
const notBack = [
  { story: 'before what was stored before the jump', wallMs: now - year - minute, kept: jumped },
  { story: 'nearer to the time of the station', wallMs: now - 30 * dayMs, kept: jumped },
  {
    story: 'after a jump of long ago',
    wallMs: now - year + minute,
    kept: { ...jumped, aheadFromMs: now - 401 * dayMs },
  },
].map(({ story, wallMs, kept: ofJump }) => ({
  story: `a clock that did not come back: ${story}`,
  facts: { ...booted, wallMs, kept: ofJump },
  is: {
    timelineMs: now + 1,
    judgedOffsetMs: wallMs - now - 1,
    holdMs: dayMs,
    followedMs: year,
    aheadFromMs: ofJump.aheadFromMs,
  },
}));

const starts: { story: string; facts: StartFacts; is: Partial<TimeStart> }[] = [
  {
    story: 'a new station takes the time that it finds',
    facts: { ...booted, kept: null, newestMs: null },
    is: { timelineMs: now + minute, judgedOffsetMs: 0, holdMs: 0 },
  },
  {
    story: 'a new station in 1970 begins with the oldest possible time',
    facts: { ...booted, wallMs: 5_000, kept: null, newestMs: null },
    is: { timelineMs: earliestMs, judgedOffsetMs: 5_000 - earliestMs, holdMs: dayMs },
  },
  {
    story: 'a short pause is believed',
    facts: booted,
    is: { timelineMs: now + minute, judgedOffsetMs: 0, holdMs: 0 },
  },
  {
    story: 'a pause of a month is believed, and nothing is deleted for a day',
    facts: { ...booted, wallMs: now + 30 * dayMs },
    is: {
      timelineMs: now + 30 * dayMs,
      judgedOffsetMs: 0,
      holdMs: dayMs,
      followedMs: 30 * dayMs,
      aheadFromMs: now + 30 * dayMs,
    },
  },
  {
    story: 'a boot in 1970 continues after the last time',
    facts: { ...booted, wallMs: 5_000 },
    is: { timelineMs: now + 1, judgedOffsetMs: 5_000 - now - 1, holdMs: dayMs },
  },
  {
    story: 'a boot in 1970 continues after the newest row',
    facts: { ...booted, wallMs: 5_000, newestMs: now + 30_000 },
    is: { timelineMs: now + 30_001, judgedOffsetMs: 5_000 - now - 30_001, holdMs: dayMs },
  },
  {
    story: 'a boot at an old saved time continues after the last time',
    facts: { ...booted, wallMs: now - 11 * minute },
    is: { timelineMs: now + 1, judgedOffsetMs: -11 * minute - 1, holdMs: dayMs },
  },
  {
    story: 'a clock that NTP had corrected back a little is believed',
    facts: { ...booted, wallMs: now - 9 * minute },
    is: { timelineMs: now - 9 * minute, judgedOffsetMs: 0, holdMs: 0 },
  },
  {
    story: 'a clock that is years ahead is not believed',
    facts: { ...booted, wallMs: now + 5 * year },
    is: { timelineMs: now + 1, judgedOffsetMs: 5 * year - 1, holdMs: dayMs },
  },
  {
    story: 'a jump that nobody confirmed is remembered over a boot, with what is left of its day',
    facts: { ...booted, wallMs: now + minute, kept: jumped },
    is: { timelineMs: now + minute, judgedOffsetMs: 0, holdMs: 5 * minute, followedMs: year, aheadFromMs: now - dayMs },
  },
  {
    story: 'a clock that came back to where it was before such a jump, after a pause',
    facts: { ...booted, wallMs: now - year + minute, kept: jumped },
    is: {
      timelineMs: now + minute,
      judgedOffsetMs: 0,
      holdMs: dayMs,
      followedMs: year,
      aheadFromMs: now - dayMs,
    },
  },
  {
    story: 'a clock that came back after a pause of a month',
    facts: { ...booted, wallMs: now - year + 30 * dayMs, kept: jumped },
    is: {
      timelineMs: now + 30 * dayMs,
      judgedOffsetMs: 0,
      holdMs: dayMs,
      followedMs: year,
      aheadFromMs: now - dayMs,
      isLateReturn: true,
    },
  },
  ...notBack,
  {
    story: 'a restart within a boot goes on',
    facts: sameBoot,
    is: { timelineMs: now + minute, judgedOffsetMs: 0, holdMs: 0 },
  },
  {
    story: 'a clock that was set while the backend did not run is judged anew',
    facts: { ...sameBoot, wallMs: now + year },
    is: { timelineMs: now + minute, judgedOffsetMs: 0, holdMs: 0 },
  },
  {
    story: 'a restart within an unsure boot keeps the time of the station',
    facts: { ...sameBoot, kept: unsure, wallMs: 5_000 + minute },
    is: { timelineMs: now + minute, judgedOffsetMs: 5_000 - now, holdMs: dayMs },
  },
];

for (const { story, facts, is } of starts) {
  test(`start: ${story}`, () => assert.deepEqual(decideStart(facts), { ...noJump, ...is }));
}

const steady: TimeFacts = {
  word: 'unknown',
  wallMs: now,
  timelineMs: now,
  followedMs: 0,
  isLateReturn: false,
  judgedOffsetMs: 0,
  steadyMs: 0,
  holdMs: 0,
};
const in1970: TimeFacts = { ...steady, wallMs: 5_000, judgedOffsetMs: 5_000 - now, holdMs: dayMs };

const steps: { story: string; facts: TimeFacts; is: TimeStep }[] = [
  { story: 'the agent says that it is right', facts: { ...steady, word: 'right' }, is: { kind: 'trust', stepMs: 0 } },
  {
    story: 'NTP answered',
    facts: { ...in1970, word: 'right', wallMs: now + dayMs },
    is: { kind: 'trust', stepMs: dayMs },
  },
  { story: 'the agent says that it is wrong', facts: { ...steady, word: 'wrong' }, is: { kind: 'wait' } },
  {
    story: 'the agent does not believe a clock that jumped',
    facts: { ...steady, word: 'wrong', wallMs: now + year },
    is: { kind: 'wait' },
  },
  { story: 'nobody knows, and nothing speaks against it', facts: steady, is: { kind: 'trust', stepMs: 0 } },
  {
    story: 'nobody knows, and it has to run for a day first',
    facts: { ...steady, holdMs: dayMs, steadyMs: dayMs - 1 },
    is: { kind: 'wait' },
  },
  {
    story: 'nobody knows, and it ran for a day',
    facts: { ...steady, holdMs: dayMs, steadyMs: dayMs },
    is: { kind: 'trust', stepMs: 0 },
  },
  { story: 'nobody set a clock that shows 1970', facts: { ...in1970, steadyMs: year }, is: { kind: 'wait' } },
  {
    story: 'somebody set a clock that showed 1970',
    facts: { ...in1970, wallMs: now + 2 * dayMs },
    is: { kind: 'follow', stepMs: 2 * dayMs, holdMs: dayMs },
  },
  {
    story: 'somebody set it by some minutes',
    facts: { ...steady, wallMs: now - 5 * minute },
    is: { kind: 'trust', stepMs: -5 * minute },
  },
  {
    story: 'somebody set it by a year',
    facts: { ...steady, wallMs: now + 180 * dayMs },
    is: { kind: 'follow', stepMs: 180 * dayMs, holdMs: dayMs },
  },
  {
    story: 'somebody set it to a time long before what is stored',
    facts: { ...steady, wallMs: now - 2 * dayMs },
    is: { kind: 'wait' },
  },
  {
    story: 'somebody took back a jump of a year',
    facts: { ...steady, timelineMs: now + year, followedMs: year, wallMs: now + minute },
    is: { kind: 'trust', stepMs: minute - year },
  },
  {
    story: 'a jump of a year was taken back during a pause of weeks',
    facts: { ...steady, timelineMs: now + year, followedMs: year, wallMs: now, isLateReturn: true },
    is: { kind: 'follow', stepMs: -year, holdMs: dayMs },
  },
  {
    story: 'somebody took back half of a jump of a year',
    facts: { ...steady, timelineMs: now + year, followedMs: year, wallMs: now + 180 * dayMs },
    is: { kind: 'follow', stepMs: 180 * dayMs - year, holdMs: dayMs },
  },
  { story: 'somebody set it to 1980', facts: { ...steady, wallMs: 10 * year }, is: { kind: 'wait' } },
];

for (const { story, facts, is } of steps) {
  test(`running: ${story}`, () => assert.deepEqual(decideTime(facts), is));
}

test('periods of earlier boots stay before this one, in their order', () => {
  const period = (id: string, fromMs: number, toMs: number) => ({ id, fromMs, toMs });
  assert.deepEqual(
    [...decideEarlierSteps(1_000, [period('a', 100, 200), period('b', 300, 400)])],
    [
      ['b', 0],
      ['a', 0],
    ],
  );
  // The clock of the earlier boots was ahead.
  assert.deepEqual(
    [...decideEarlierSteps(1_000, [period('a', 5_000, 5_200), period('b', 5_300, 5_400)])],
    [
      ['b', -4_400],
      ['a', -4_300],
    ],
  );
});
