import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { StartAnswer } from '@station/agent/core/stack-port';
import { StationError } from '@station/kit/station-error';
import { runAgent } from './agent-run.ts';
import { judge } from './judge.ts';
import { expectationOf, prepare, scenarioNamed } from './scenarios.ts';
import { systemError } from './simulated-disk.ts';
import { readFileNow } from './world.ts';

const minute = 60_000;

const codeOf = (answer: StartAnswer): string => (answer.kind === 'refused' ? answer.code : answer.kind);

test('refuses each request immediately while the disk is full', async () => {
  const scenario = scenarioNamed('rollback-good');
  const world = await prepare(scenario);
  const answers: string[] = [];
  const standing: boolean[] = [];
  let asking = false;
  const isFull = (): boolean => answers.length < 3;
  const run = await runAgent(world, {
    request: { kind: 'none' },
    stayMs: 10 * minute,
    diskFault: (operation, path) => {
      const counts = operation === 'write' && path.includes('journal') && (asking || answers.length > 0);
      return counts && isFull() ? systemError('ENOSPC', 'write', path) : null;
    },
    onSleep: ({ stack, keeper, conditions }) => {
      if (asking || answers.length > 3 || !keeper.isLoaded() || keeper.isUnsettled() === isReady()) return;
      if (answers.length === 3 && conditions.has('state_not_writable')) return;
      asking = true;
      void stack.rollback().then((answer) => {
        answers.push(codeOf(answer));
        standing.push(conditions.has('state_not_writable'));
        asking = false;
      });
    },
  });
  /** The loop has something to repair only after the first refusal. */
  function isReady(): boolean {
    return answers.length === 0 || answers.length === 3;
  }
  assert.deepEqual(answers, ['disk_space_low', 'disk_space_low', 'disk_space_low', 'started']);
  assert.deepEqual(standing, [true, true, true, false]);
  assert.ok(!run.conditions.includes('state_not_writable'));
  const expected = { ...expectationOf(scenario, world.ids - 1), disturbed: true };
  assert.deepEqual(await judge(world, run, expected), []);
});

describe('a compose project that cannot be read', () => {
  const unreadable = (reason: string): StationError =>
    new StationError('compose_project_unreadable', `The compose project of the stack cannot be read: ${reason}`);

  test('is reported with its reason, once for each, and not as an unreachable engine', async () => {
    const scenario = scenarioNamed('update-good');
    const world = await prepare(scenario);
    const reasons = ['VERSION is missing', 'VERSION is missing', 'VERSION is missing', 'line 7 is no YAML'];
    let probes = 0;
    const run = await runAgent(world, {
      request: scenario.request,
      onPoint: (_, label) => {
        if (label === 'probe') probes += 1;
      },
      engineFault: (call) => {
        const reason = call === 'containers' && probes >= 5 ? reasons.shift() : undefined;
        return reason === undefined ? null : unreadable(reason);
      },
    });
    assert.deepEqual(reasons, []);
    assert.equal(run.events.filter((event) => event === 'compose_project_unreadable').length, 2);
    assert.deepEqual(run.raised, ['compose_project_unreadable']);
    assert.deepEqual(run.conditions, []);
    const expected = { ...expectationOf(scenario, world.ids - 1), disturbed: true };
    assert.deepEqual(await judge(world, run, expected), []);
  });

  test('is the answer to a request when the agent starts with it', async () => {
    const scenario = scenarioNamed('older-agent');
    const world = await prepare(scenario);
    const repairedMs = world.time.monotonicMs + 5 * minute;
    const answers = new Set<string>();
    const run = await runAgent(world, {
      request: { kind: 'none' },
      engineFault: (call) =>
        call === 'containers' && world.time.monotonicMs < repairedMs ? unreadable('there is no plugin') : null,
      onSleep: ({ stack, conditions, keeper }) => {
        if (!conditions.has('compose_project_unreadable') || keeper.operation()) return;
        void stack.update(null).then((answer) => answers.add(codeOf(answer)));
      },
    });
    assert.deepEqual([...answers], ['compose_project_unreadable']);
    assert.deepEqual(await judge(world, run, { ...expectationOf(scenario, world.ids - 1), disturbed: true }), []);
  });
});

test('a request during the automatic update to the same release sees that it failed', async () => {
  const scenario = scenarioNamed('update-unhealthy');
  const world = await prepare(scenario);
  const answers: Promise<StartAnswer>[] = [];
  const run = await runAgent(world, {
    request: scenario.request,
    // The operation begins, and the journal does not say so yet.
    onPoint: (_, label, { stack }) => {
      if (label !== 'disk.sync .journal.json.tmp' || answers.length > 0) return;
      if (readFileNow(world, '.journal.json.tmp')?.includes('"phase":"preparing"')) answers.push(stack.update(null));
    },
  });
  const [answer] = await Promise.all(answers);
  assert.equal(answer && codeOf(answer), 'conflict');
  assert.equal(run.events.filter((event) => event === 'update_start').length, 1);
});
