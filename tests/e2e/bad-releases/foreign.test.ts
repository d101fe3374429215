import { after, before, describe, test } from 'node:test';
import { createStory, type Story } from '../update/story.ts';
import { badOfForeign, firstOfForeign, goodOfForeign } from './foreign-releases.ts';
import { assertRolledBack, assertStays, createOffers, type Station } from './offered.ts';

describe('of a stack that is not Station’s, a release that', { timeout: 1_800_000 }, () => {
  let story: Story;
  let station: Station;
  before(async () => {
    const env = { STABILIZATION_SECONDS: '2', HEALTHCHECK_TIMEOUT_SECONDS: '10', PROBATION_MINUTES: '0' };
    story = await createStory({ env });
    station = { agent: story.agent, offer: createOffers(story.rig) };
    await assertStays(station, firstOfForeign);
  });
  after(() => story[Symbol.asyncDispose]());

  for (const [name, make, code, reason] of badOfForeign) {
    test(`${name} is rolled back`, async () => assertRolledBack(station, await make(), { code, reason }));
  }

  for (const [name, make] of goodOfForeign) test(`${name} stays`, async () => assertStays(station, await make()));
});
