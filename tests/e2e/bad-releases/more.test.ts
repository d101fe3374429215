import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { waitFor } from '../../rig/program.ts';
import { withProgram } from './faults.ts';
import { createHome, type Home } from './home.ts';
import { moreBadOfHome, moreGoodOfHome } from './home-releases.ts';
import { assertRolledBack, assertStays } from './offered.ts';

// More releases of the kinds of `people.test.ts` on the real stack, and odd ones that are good.

describe('on the stack of a home, a release that', { timeout: 3_000_000 }, () => {
  let home: Home;
  before(async () => {
    home = await createHome();
  });
  after(() => home[Symbol.asyncDispose]());

  for (const [name, make, code, reason] of moreBadOfHome) {
    test(`${name} is rolled back`, async () => assertRolledBack(home, await make(), { code, reason }));
  }

  test('is installed while one of five devices is switched off stays', () =>
    assertStays(home, { backend: withProgram('// Installed while a device is switched off.') }, async () => {
      await home.agent.event('docker_restart', { after: home.agent.events.length });
      await home.fleet.devices[0]?.[Symbol.asyncDispose]();
    }));

  for (const [name, make] of moreGoodOfHome) test(`${name} stays`, async () => assertStays(home, await make()));

  test('is installed while all devices lose their network is rolled back, and not quarantined', async () => {
    const { agent, fleet, offer } = home;
    const { currentVersion } = await agent.status();
    await offer({ backend: withProgram('// Installed while the devices lose their network.') });
    const seen = agent.events.length;
    const [{ body }] = await Promise.all([
      agent.call('POST', '/update'),
      agent.event('docker_restart', { after: seen }).then(() => fleet[Symbol.asyncDispose]()),
    ]);
    const status = await agent.idle();
    assert.equal(status.history[0]?.code, 'release_devices_away', JSON.stringify(body));
    assert.equal(status.currentVersion, currentVersion);
    assert.notEqual(status.quarantined[0]?.version, status.history[0]?.to);
  });

  test('is installed after the devices were switched off stays', async () => {
    await waitFor('the devices to be shown as offline', async () => (await home.heard()).length === 0, 300_000);
    await assertStays(home, { backend: withProgram('// Installed after the devices were switched off.') });
  });
});
