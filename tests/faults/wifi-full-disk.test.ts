import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { OperationPhase } from '@station/protocol/agent-api';
import { runAgent } from './agent-run.ts';
import { prepare, scenarioNamed } from './scenarios.ts';
import { systemError } from './simulated-disk.ts';

type Seen = { conditions: string[]; phase: OperationPhase | null };

/**
 * A disk is full for some minutes while the hotspot requests port 80.
 * @returns the state when the request was granted.
 */
async function askWhileDiskIsFull(name: string, isFull: (phase: OperationPhase | null) => boolean): Promise<Seen> {
  const scenario = scenarioNamed(name);
  const world = await prepare(scenario);
  let fullMs: number | null = null;
  let phase: OperationPhase | null = null;
  let isAsked = false;
  let seen: Seen | null = null;
  const run = await runAgent(world, {
    request: scenario.request,
    stayMs: 6 * 60_000,
    diskFault: (operation, path) => {
      if (!['write', 'makeDirectory'].includes(operation)) return null;
      if (isFull(phase)) fullMs ??= world.time.monotonicMs;
      const isStill = fullMs !== null && world.time.monotonicMs < fullMs + 4 * 60_000;
      return isStill ? systemError('ENOSPC', operation, path) : null;
    },
    onSleep: ({ stack, keeper, conditions }) => {
      phase = keeper.isLoaded() ? (keeper.operation()?.phase ?? null) : null;
      if (isAsked || !conditions.has('state_not_writable')) return;
      isAsked = true;
      void stack.untilProxyIsFree(new AbortController().signal).then(
        () => (seen = { conditions: conditions.list().map(({ id }) => id), phase }),
        () => undefined,
      );
    },
  });
  assert.equal(run.outcome, 'quiet');
  assert.ok(fullMs !== null && isAsked && seen, 'the disk was full, and the request was made and granted');
  return seen;
}

test('opens the setup page although a full disk prevents the stack from starting', async () => {
  const { conditions } = await askWhileDiskIsFull('bring-up-at-boot', () => true);
  assert.ok(conditions.includes('state_not_writable'), 'granted immediately, not only when there was space again');
});

test('keeps the proxy for a release under verification when the disk fills up', async () => {
  const { conditions } = await askWhileDiskIsFull('update-good', (phase) => phase === 'verifying');
  assert.ok(!conditions.includes('state_not_writable'));
});
