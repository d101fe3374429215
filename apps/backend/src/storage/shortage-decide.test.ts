import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decideShortage, type ShortageFacts } from './shortage-decide.ts';

const mebibyte = 1024 * 1024;
const inMebibytes = (facts: ShortageFacts): ShortageFacts =>
  Object.fromEntries(Object.entries(facts).map(([name, size]) => [name, size * mebibyte])) as ShortageFacts;
/** MiB. */
const fine: ShortageFacts = {
  missingBytes: 10,
  fileBytes: 210,
  freeBytes: 2,
  spareCopyBytes: 0,
  historyBytes: 200,
  startedBytes: 200,
  roomBytes: 1_300,
};

const table: [string, Partial<ShortageFacts>, number][] = [
  ['what is missing goes', {}, 200],
  ['free pages count', { freeBytes: 30 }, 200],
  ['copies count', { spareCopyBytes: 4 }, 204],
  ['enough copies spare the history', { spareCopyBytes: 50 }, 210],
  ['half of the history stays', { missingBytes: 150 }, 108],
  ['half of what there was when the disk became full stays', { missingBytes: 50, historyBytes: 110 }, 198],
  ['then nothing goes any more', { missingBytes: 50, historyBytes: 100 }, 208],
  ['nor of a history that others made smaller', { missingBytes: 50, historyBytes: 60 }, 208],
  ['history of the time since then may go', { missingBytes: 250, historyBytes: 300, fileBytes: 310 }, 108],
  ['a small history stays', { missingBytes: 50, historyBytes: 15, startedBytes: 15, fileBytes: 20 }, 18],
  ['of a larger one the least', { missingBytes: 50, historyBytes: 20, startedBytes: 20, fileBytes: 25 }, 19],
  [
    'a small budget keeps half of its room',
    { missingBytes: 50, historyBytes: 4, startedBytes: 4, fileBytes: 6, freeBytes: 0, roomBytes: 4 },
    4,
  ],
  ['nothing was counted yet: nothing goes', { historyBytes: 0, startedBytes: 0 }, 208],
  ['counted too much: never below 0', { missingBytes: 900, historyBytes: 900, startedBytes: 900, fileBytes: 10 }, 0],
];

for (const [name, facts, expected] of table) {
  test(name, () => assert.equal(decideShortage(inMebibytes({ ...fine, ...facts })) / mebibyte, expected));
}

test('whatever else fills the disk again and again, half of the history stays', () => {
  for (const canShrink of [true, false]) {
    const facts = inMebibytes(fine);
    for (let look = 0; look < 1_000; look++) {
      const most = decideShortage({ ...facts, missingBytes: 40 * mebibyte });
      const shed = Math.max(0, facts.fileBytes - facts.freeBytes - most);
      facts.historyBytes -= shed;
      facts.freeBytes += shed;
      if (canShrink) {
        facts.fileBytes -= facts.freeBytes;
        facts.freeBytes = 0;
      }
    }
    // A file that cannot shrink has what is missing free inside, and loses no more.
    assert.equal(facts.historyBytes / mebibyte, canShrink ? 100 : 162);
  }
});
