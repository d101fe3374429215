import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { describe, test } from 'node:test';
import { extent } from '../rig/extent.ts';
import { flaws } from '../faults/flaws.ts';
import { exploreFaultsOnThread, exploreOnThread } from '../faults/on-thread.ts';
import { assertNoBadEnds, describeCounts } from '../faults/report-ends.ts';
import { scenarios } from '../faults/scenarios.ts';

/**
 * Runs the agent's whole flow on a simulated disk and engine that lose, tear or keep unsynced data. It crashes at every
 * durable write and engine call, once or repeatedly, without a network in the recovery. A bad end prints its replay command.
 */
const thorough = {
  every: extent(8, 1),
  randomVariants: 2,
  quietEvery: 40,
  doubleEvery: 3,
  secondCrashes: 2,
  afterwardsEvery: 5,
  damages: 2,
  storms: extent(5, 40),
};
const leastPoints = extent(1_000, 10_000);
const faultEvery = extent(100, 20);

const print = (line: string): void => void process.stdout.write(`${line}\n`);

// Each on its own thread, because they only compute.
const concurrency = availableParallelism();

let points = 0;
let bad = 0;
let passing = 0;

describe('a station whose update is interrupted', { concurrency }, () => {
  for (const scenario of scenarios) {
    test(`ends healthy and truthful: ${scenario.name}`, async () => {
      const { counts, badEnds } = await exploreOnThread({ scenario: scenario.name, options: thorough });
      points += counts.single + counts.double;
      bad += badEnds.length;
      print(`${scenario.name}: ${describeCounts(counts)}, bad ends: ${badEnds.length}`);
      assertNoBadEnds(badEnds);
    });
  }
});

test('enough points were interrupted', () => {
  print(`update-powercut: ${points} points (single and double crashes), bad ends: ${bad}`);
  assert.ok(points >= leastPoints, `${points} points`);
  assert.equal(bad, 0);
});

describe('a station whose disk or engine fails for a moment', { concurrency }, () => {
  for (const scenario of scenarios) {
    test(`continues automatically: ${scenario.name}`, async () => {
      const found = await exploreFaultsOnThread({ scenario: scenario.name, options: { every: faultEvery } });
      passing += found.points;
      assertNoBadEnds(found.badEnds);
    });
  }
});

test('temporary faults were tried', () => {
  print(`temporary faults: ${passing}, bad ends: 0`);
  assert.ok(passing > 0);
});

describe('a flaw is found', { concurrency }, () => {
  for (const { name, foundIn, rare = false } of flaws) {
    const often = rare ? { every: 1, afterwardsEvery: 1 } : { every: extent(12, 4), afterwardsEvery: Infinity };
    const options = { ...thorough, ...often, doubleEvery: Infinity, damages: 0, storms: 0 };
    test(name, async () => {
      const { badEnds } = await exploreOnThread({ scenario: foundIn, options, flaw: name });
      print(`${name}: ${badEnds.length} bad ends in ${foundIn}`);
      assert.ok(badEnds.length > 0);
    });
  }
});
