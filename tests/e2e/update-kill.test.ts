import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, test } from 'node:test';
import { extent } from '../rig/extent.ts';
import { waitFor } from '../rig/program.ts';
import type { Behaviour } from '../rig/small-images.ts';
import { assertRests, createStory, type Story } from './update/story.ts';

/**
 * kill -9 of the agent and of what it started, at moments spread evenly over an update or a rollback, and again while it
 * recovers. Every run must end on a healthy release with a correct status, without help.
 */
type Scenario = {
  name: string;
  behaviour: Behaviour;
  kind: 'update' | 'rollback';
  /** Kills during the operation, and double kills: one during the operation, one during the recovery. */
  single: number;
  double: number;
};

const scenarios: Scenario[] = [
  {
    name: 'update to a good release',
    behaviour: 'good',
    kind: 'update',
    ...extent({ single: 5, double: 2 }, { single: 18, double: 6 }),
  },
  {
    name: 'update to a release that crashes',
    behaviour: 'crash-loop',
    kind: 'update',
    ...extent({ single: 3, double: 1 }, { single: 10, double: 3 }),
  },
  {
    name: 'update to a release that is never healthy',
    behaviour: 'unhealthy',
    kind: 'update',
    ...extent({ single: 2, double: 1 }, { single: 8, double: 2 }),
  },
  {
    name: 'manual rollback',
    behaviour: 'good',
    kind: 'rollback',
    ...extent({ single: 4, double: 1 }, { single: 12, double: 4 }),
  },
];

/** Time limit from the restart of the agent to a healthy station at rest. */
const recoveryMs = 300_000;

/** Only a release that is never healthy waits for the end of the gate. */
const envOf = ({ behaviour }: Scenario): Record<string, string> => ({
  STABILIZATION_SECONDS: '0',
  HEALTHCHECK_TIMEOUT_SECONDS: behaviour === 'unhealthy' ? '10' : '30',
});

let kills = 0;
let worstMs = 0;

// Two stations in parallel, each with its own engine, because they mostly wait.
describe('killed at any moment', { concurrency: 2 }, () => {
  for (const scenario of scenarios) {
    test(scenario.name, async () => {
      await using story = await createStory({ env: envOf(scenario) });
      const lifetime = createLifetime(story, scenario);
      await lifetime.prepare();
      const durationMs = await lifetime.measure();
      const moments = [
        ...spread(scenario.single, durationMs).map((firstMs) => [firstMs]),
        ...spread(scenario.double, durationMs).map((firstMs, index) => [
          firstMs,
          spread(scenario.double, durationMs)[index] as number,
        ]),
      ];
      for (const moment of moments) await lifetime.killAt(moment);
    });
  }
});

test('every kill ended well', (t) => {
  const wanted = scenarios.reduce((sum, { single, double }) => sum + single + 2 * double, 0);
  assert.equal(kills, wanted, 'every planned kill took place');
  t.diagnostic(`${kills} kills, all ended healthy and truthful; the slowest recovery took ${Math.round(worstMs)} ms`);
});

/** The middles of `count` equal parts of a duration. */
function spread(count: number, durationMs: number): number[] {
  return Array.from({ length: count }, (_, index) => ((index + 0.5) / count) * durationMs);
}

function createLifetime({ rig, agent }: Story, scenario: Scenario) {
  let minor = 1;
  const publish = async (behaviour: Behaviour): Promise<string> => {
    const version = `1.${minor++}.0`;
    await rig.release({ version, behaviour, ballast: [1_500_000, 1_500_000] });
    return version;
  };
  const current = async (): Promise<string> => (await agent.status()).currentVersion ?? '';
  const begin = async (): Promise<void> => {
    const path = scenario.kind === 'rollback' ? '/rollback?wait=false' : '/update?wait=false';
    const answer = await agent.call('POST', path);
    assert.equal(answer.status, 202, JSON.stringify(answer.body));
  };
  /** A rollback needs a previous release, so the release that was left is requested by its version. */
  const prepare = async (): Promise<void> => {
    if (scenario.kind === 'update') return;
    await publish('good');
    assert.equal((await agent.call('POST', '/update')).body['result'], 'updated');
    await agent.idle();
  };
  const goForth = async (): Promise<string> => {
    const { rollback, quarantined } = await agent.status();
    if (rollback?.version) return rollback.version;
    const answer = await agent.call('POST', '/update', { body: { version: quarantined[0]?.version } });
    assert.equal(answer.body['result'], 'updated', JSON.stringify(answer.body));
    await agent.idle();
    return (await agent.status()).rollback?.version ?? '';
  };
  const target = async (): Promise<string> =>
    scenario.kind === 'update' ? publish(scenario.behaviour) : await goForth();

  return {
    prepare,
    measure: async (): Promise<number> => {
      await target();
      const started = performance.now();
      await begin();
      await agent.idle();
      return performance.now() - started;
    },
    killAt: async (moments: readonly number[]): Promise<void> => {
      // Preparing a target may change the current release.
      const targeted = scenario.kind === 'rollback' ? await target() : null;
      const before = await current();
      const after = targeted ?? (await target());
      await begin();
      let restarted = performance.now();
      for (const moment of moments) {
        await sleep(moment);
        await agent.kill();
        kills += 1;
        restarted = performance.now();
        await agent.start();
      }
      await agent.idle(recoveryMs);
      const version = await current();
      const allowed = scenario.behaviour === 'good' ? [before, after] : [before];
      assert.ok(
        allowed.includes(version),
        `ended on ${version}, not on ${allowed.join(' or ')} (killed after ${moments.join(' and ')} ms)`,
      );
      await waitFor(
        'a healthy stack',
        async () => (await rig.stack.health())?.statusCode === 200,
        recoveryMs - (performance.now() - restarted),
      );
      worstMs = Math.max(worstMs, performance.now() - restarted);
      await assertRests({ rig, agent }, version);
    },
  };
}
