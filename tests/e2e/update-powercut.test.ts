import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { explore } from '../faults/explorer.ts';
import { exploreFaults } from '../faults/fault-explorer.ts';
import { flaws } from '../faults/flaws.ts';
import { assertNoBadEnds, describeCounts } from '../faults/report-ends.ts';
import { scenarios } from '../faults/scenarios.ts';

/**
 * The agent's whole flow on a simulated disk and engine that lose, tear or keep whatever was not synced: ended at every
 * durable write and every engine call, once, twice and many times over, with no network in the recovery. A bad end prints the
 * command that runs it again.
 */
const thorough = {
  randomVariants: 2,
  quietEvery: 40,
  every: 1,
  doubleEvery: 3,
  secondCrashes: 2,
  afterwardsEvery: 5,
  damages: 2,
  storms: 40,
};
const leastPoints = 10_000;
const faultEvery = 20;

const tell = (line: string): void => void process.stdout.write(`${line}\n`);

describe('a station whose update is interrupted', () => {
  let points = 0;
  let bad = 0;

  for (const scenario of scenarios) {
    test(`ends healthy and truthful: ${scenario.name}`, async () => {
      const { counts, badEnds } = await explore(scenario, thorough);
      points += counts.single + counts.double;
      bad += badEnds.length;
      tell(`${scenario.name}: ${describeCounts(counts)}, bad ends: ${badEnds.length}`);
      assertNoBadEnds(badEnds);
    });
  }

  test('was tried at enough points', () => {
    tell(`update-powercut: ${points} points (single and double crashes), bad ends: ${bad}`);
    assert.ok(points >= leastPoints, `${points} points`);
    assert.equal(bad, 0);
  });
});

describe('a station whose disk or engine fails for a moment', () => {
  let points = 0;
  for (const scenario of scenarios) {
    test(`goes on by itself: ${scenario.name}`, async () => {
      const found = await exploreFaults(scenario, { every: faultEvery });
      points += found.points;
      assertNoBadEnds(found.badEnds);
    });
  }
  test('was tried', () => {
    tell(`faults that pass: ${points}, bad ends: 0`);
    assert.ok(points > 0);
  });
});

describe('a flaw is found', () => {
  for (const { name, foundIn, rare = false, ...flaw } of flaws) {
    const often = rare ? { every: 1, afterwardsEvery: 1 } : { every: 4, afterwardsEvery: Infinity };
    const quick = { ...thorough, ...often, doubleEvery: Infinity, damages: 0, storms: 0, flaw };
    test(name, async () => {
      const scenario = scenarios.find((one) => one.name === foundIn);
      assert.ok(scenario);
      const { badEnds } = await explore(scenario, quick);
      tell(`${name}: ${badEnds.length} bad ends in ${foundIn}`);
      assert.ok(badEnds.length > 0);
    });
  }
});
