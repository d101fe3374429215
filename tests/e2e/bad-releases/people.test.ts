import { after, before, describe, test } from 'node:test';
import { createHome, type Home } from './home.ts';
import { badOfHome, goodOfHome } from './home-releases.ts';
import { assertRolledBack, assertStays } from './offered.ts';

// Releases on the real stack with an owner and devices. What people would miss is the reason. More of the same kinds: `more.test.ts`.

describe('a release whose health address answers', { timeout: 900_000 }, () => {
  let home: Home;
  before(async () => {
    home = await createHome();
  });
  after(() => home[Symbol.asyncDispose]());

  for (const [name, make, code, reason] of badOfHome) {
    test(`and that ${name} is rolled back`, async () => assertRolledBack(home, await make(), { code, reason }));
  }

  for (const [name, make] of goodOfHome) test(`and that ${name} stays`, async () => assertStays(home, await make()));
});
