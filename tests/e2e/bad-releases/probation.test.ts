import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { waitFor } from '../../rig/program.ts';
import { assertRests, createStory } from '../update/story.ts';
import { lateReleases } from './late-releases.ts';

// A release that passes its health gate, and turns out bad afterwards. A minute of probation looks every three seconds.

const patienceMs = 120_000;

describe('after its verdict, a release', { timeout: 600_000 }, () => {
  for (const [name, behaviour, code] of lateReleases) {
    test(`that ${name} goes back by itself with AUTO_UPDATE`, async () => {
      await using story = await createStory({ env: { AUTO_UPDATE: 'true', PROBATION_MINUTES: '1' } });
      const { rig, agent } = story;
      await rig.release({ version: '1.1.0', behaviour });
      const answer = await agent.call('POST', '/update');
      assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
      const status = await waitFor(
        'the way back',
        async () => {
          const now = await agent.status();
          return now.operation === null && now.currentVersion === '1.0.0' && now;
        },
        patienceMs,
      );
      const [entry] = status.history;
      assert.deepEqual(
        [entry?.kind, entry?.trigger, entry?.result, entry?.from, entry?.to, entry?.because?.code, entry?.reason],
        ['rollback', 'automatic', 'rolled_back', '1.1.0', '1.0.0', code, null],
      );
      assert.deepEqual([status.quarantined[0]?.version, status.quarantined[0]?.code], ['1.1.0', code]);
      assert.ok(!status.conditions.some(({ id }) => id === 'release_failing'));
      await assertRests(story, '1.0.0');
    });
  }

  test('is left to the person who decides on updates, who is told', async () => {
    await using story = await createStory({ env: { PROBATION_MINUTES: '1' } });
    const { rig, agent } = story;
    await rig.release({ version: '1.1.0', behaviour: { kind: 'unhealthy-after', seconds: 7 } });
    await agent.call('POST', '/update');
    const isTold = async (): Promise<boolean> =>
      (await agent.status()).conditions.some(({ id }) => id === 'release_failing');
    await waitFor('the condition', isTold, patienceMs);
    const told = await agent.status();
    assert.deepEqual([told.currentVersion, told.lastError?.code], ['1.1.0', 'release_page_broken']);
    const back = await agent.call('POST', '/rollback');
    assert.equal(back.body['result'], 'rolled_back', JSON.stringify(back.body));
    assert.ok(!(await isTold()));
    await assertRests(story, '1.0.0');
  });

  test('that is good stays, also when a person stops and restarts its services', async () => {
    await using story = await createStory({ env: { AUTO_UPDATE: 'true', PROBATION_MINUTES: '1' } });
    const { rig, agent } = story;
    await rig.release({ version: '1.1.0' });
    await agent.call('POST', '/update');
    const ends = Date.now() + 60_000;
    await rig.engine.docker('stop', '--time', '1', 'station-backend');
    await waitFor('more looks than a broken page may have', () => Date.now() > ends - 35_000, patienceMs);
    await rig.engine.docker('start', 'station-backend');
    for (let restart = 0; restart < 4; restart += 1)
      await rig.engine.docker('restart', '--time', '1', 'station-backend');
    await waitFor('the end of the probation', () => Date.now() > ends, patienceMs);
    const status = await agent.status();
    assert.deepEqual([status.currentVersion, status.quarantined, status.history.length], ['1.1.0', [], 1]);
  });
});
