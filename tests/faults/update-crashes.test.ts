import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { extent } from '../rig/extent.ts';
import { explore } from './explorer.ts';
import { exploreFaults } from './fault-explorer.ts';
import { flaws } from './flaws.ts';
import { assertNoBadEnds } from './report-ends.ts';
import { scenarios } from './scenarios.ts';

/** A small part of `npm run e2e -- update-powercut`, for each test run. */
const slice = {
  randomVariants: 1,
  quietEvery: 50,
  every: extent(37, 11),
  doubleEvery: extent(2, 4),
  secondCrashes: 1,
  afterwardsEvery: 6,
  damages: 0,
  storms: extent(1, 4),
};

describe('an interrupted station', () => {
  for (const scenario of scenarios) {
    test(`ends healthy with a correct status: ${scenario.name}`, async () => {
      const { counts, badEnds } = await explore(scenario, slice);
      assert.ok(counts.single > 0 && counts.double > 0);
      assertNoBadEnds(badEnds);
    });
  }

  test('continues automatically after temporary faults', async () => {
    const [scenario] = scenarios;
    assert.ok(scenario);
    const { points, badEnds } = await exploreFaults(scenario, { every: extent(60, 20) });
    assert.ok(points > 0);
    assertNoBadEnds(badEnds);
  });
});

test('finds an agent that does not sync files', async () => {
  const [flaw] = flaws;
  const [scenario] = scenarios;
  assert.ok(flaw && scenario);
  const { badEnds } = await explore(scenario, { ...slice, every: 5, flaw });
  assert.ok(badEnds.length > 0);
});
