import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StartAnswer } from '@station/agent/core/stack-port';
import { runAgent } from './agent-run.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, scenarioNamed } from './scenarios.ts';
import { engineOffline } from './simulated-engine.ts';

const scenario = scenarioNamed('update-good');

/** The agent's waits after a short fault while it verifies the new release. */
type Seen = { conditions: string[]; asked: Promise<StartAnswer> | null; proxyWasFree: boolean; waits: number };

async function verifyWithShortFault(): Promise<Seen> {
  const world = await prepare(scenario);
  const seen: Seen = { conditions: [], asked: null, proxyWasFree: false, waits: 0 };
  let probes = 0;
  let left = 1;
  const run = await runAgent(world, {
    request: scenario.request,
    onPoint: (_, label) => {
      if (label === 'probe') probes += 1;
    },
    engineFault: (call) => (probes === 5 && call === 'containers' && left-- > 0 ? engineOffline() : null),
    onSleep: ({ stack, keeper, conditions }) => {
      // Some probes later the fault has long ended, and the health gate still runs.
      if (probes < 12 || keeper.operation()?.phase !== 'verifying') return;
      seen.waits += 1;
      seen.conditions.push(...conditions.list().map(({ id }) => id));
      seen.asked ??= stack.update(null);
      if (seen.waits > 1) return;
      void stack.untilProxyIsFree(new AbortController().signal).then(
        () => (seen.proxyWasFree = keeper.operation() !== null),
        () => undefined,
      );
    },
  });
  assert.equal(left, 0, 'the fault came');
  const expected = { ...expectationOf(scenario, world.ids - 1), disturbed: true };
  assert.deepEqual(await judge(world, run, expected), []);
  return seen;
}

describe('an engine that does not answer for a moment during an update', () => {
  test('is not reported as unreachable until the end of the update', async () => {
    const { conditions, waits, asked, proxyWasFree } = await verifyWithShortFault();
    assert.ok(waits > 5);
    assert.deepEqual(conditions, []);
    const answer = await asked;
    assert.equal(answer?.kind === 'refused' && answer.code, 'update_in_progress');
    assert.equal(proxyWasFree, false, 'the release under way needs the proxy');
  });
});
