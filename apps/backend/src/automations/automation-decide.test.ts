import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CheckedFlow } from '@station/protocol/automation-flow';
import { act, chain, delay, edges, node, start, untilMotion } from '../../testing/automation-world.ts';
import { decideRun, nextNodes, type StepFact } from './automation-decide.ts';

const line = chain([start, act('a'), delay('d', 60), act('b')]) as CheckedFlow;
const step = (nodeId: string, status: StepFact['status'], dueAt: number | null = null): StepFact => ({
  nodeId,
  status,
  dueAt,
});
const decide = (steps: StepFact[], options: { nowMs?: number; abandoned?: boolean; flow?: CheckedFlow } = {}) => {
  const { nowMs = 1_000, abandoned = false, flow = line } = options;
  return decideRun({ flow, triggers: ['start'], steps, nowMs, abandoned });
};
const begins = (steps: StepFact[], flow = line): string[] => {
  const decision = decide(steps, { flow });
  return decision.kind === 'begin' ? decision.nodes.map(({ id }) => id) : [decision.kind];
};

test('a run follows its edges from its trigger, and waits at delays', () => {
  assert.deepEqual(begins([]), ['a']);
  assert.deepEqual(decide([step('a', 'running')]), { kind: 'busy', until: null });
  for (const tried of ['done', 'failed', 'expired'] as const) assert.deepEqual(begins([step('a', tried)]), ['d']);
  const waiting = [step('a', 'done'), step('d', 'waiting', 2_000)];
  assert.deepEqual(decide(waiting), { kind: 'wait', until: 2_000 });
  assert.deepEqual(decide(waiting, { nowMs: 2_000 }), {
    kind: 'end_waits',
    waits: [{ nodeId: 'd', status: 'done', lateMs: 0 }],
  });
  assert.deepEqual(begins([step('a', 'done'), step('d', 'done')]), ['b']);
});

test('a delay may be an hour late; beyond that it was missed', () => {
  const waiting = [step('a', 'done'), step('d', 'waiting', 0)];
  const hour = 3_600_000;
  assert.deepEqual(decide(waiting, { nowMs: hour }), {
    kind: 'end_waits',
    waits: [{ nodeId: 'd', status: 'done', lateMs: hour }],
  });
  assert.deepEqual(decide(waiting, { nowMs: hour + 1 }), { kind: 'miss', nodeIds: ['d'] });
});

test('a step that a dead process started interrupts the run; a waiting delay continues', () => {
  assert.deepEqual(decide([step('a', 'running')], { abandoned: true }), { kind: 'interrupt', nodeIds: ['a'] });
  const waiting = [step('a', 'done'), step('d', 'waiting', 2_000)];
  assert.deepEqual(decide(waiting, { abandoned: true }), { kind: 'wait', until: 2_000 });
  assert.equal(decide([step('a', 'done')], { abandoned: true }).kind, 'begin');
});

test('a run fails when an action failed, and otherwise completes', () => {
  const all = (last: StepFact['status']) => decide([step('a', 'done'), step('d', 'done'), step('b', last)]);
  assert.deepEqual(all('done'), { kind: 'end', status: 'completed', reason: null });
  assert.deepEqual(all('failed'), { kind: 'end', status: 'failed', reason: 'action_failed' });
  assert.deepEqual(all('expired'), { kind: 'end', status: 'failed', reason: 'action_failed' });
});

test('a condition chooses the edge to follow, and a path without an edge stops', () => {
  const flow = {
    nodes: [start, node('c', 'condition', 'time_range', { from: '00:00', to: '00:00' }), act('yes'), act('no')],
    edges: [...edges('start-c', 'c-yes'), { id: 'else', source: 'c', target: 'no', sourceHandle: 'false' as const }],
  } as CheckedFlow;
  assert.deepEqual(begins([], flow), ['c']);
  assert.deepEqual(begins([step('c', 'met')], flow), ['yes']);
  assert.deepEqual(begins([step('c', 'not_met')], flow), ['no']);
  const gate = chain([start, flow.nodes[1] as never, act('yes')]) as CheckedFlow;
  const end = decide([step('c', 'not_met')], { flow: gate });
  assert.deepEqual(end, { kind: 'end', status: 'completed', reason: 'conditions_not_met' });
});

test('every edge is followed, and a node where paths meet runs once, by the first path', () => {
  const flow = {
    nodes: [start, act('a'), act('b'), act('end')],
    edges: edges('start-a', 'start-b', 'a-end', 'b-end'),
  } as CheckedFlow;
  assert.deepEqual(begins([], flow), ['a', 'b']);
  const one = [step('a', 'done'), step('b', 'running')];
  assert.deepEqual(begins(one, flow), ['end']);
  assert.deepEqual(nextNodes({ flow, triggers: ['start'], steps: [...one, step('end', 'running')] }), []);
  const both = [step('a', 'done'), step('b', 'done'), step('end', 'done')];
  assert.equal(decide(both, { flow }).kind, 'end');
});

test('a delay ends on time while an action runs in parallel', () => {
  const flow = { nodes: [start, act('a'), delay('d', 1)], edges: edges('start-a', 'start-d') } as CheckedFlow;
  const steps = [step('a', 'running'), step('d', 'waiting', 2_000)];
  assert.deepEqual(decide(steps, { flow }), { kind: 'busy', until: 2_000 });
  assert.equal(decide(steps, { flow, nowMs: 2_000 }).kind, 'end_waits');
});

test('a wait for a condition ends when it is met, or with its time limit; an hour later the run was missed', () => {
  const flow = {
    nodes: [start, untilMotion('w', false, 60), act('yes'), act('no')],
    edges: [...edges('start-w', 'w-yes'), { id: 'else', source: 'w', target: 'no', sourceHandle: 'false' as const }],
  } as CheckedFlow;
  const waiting = (isMet: boolean): StepFact[] => [{ ...step('w', 'waiting', 2_000), isMet }];
  const hour = 3_600_000;
  const end = (status: 'met' | 'not_met', lateMs: number) => ({
    kind: 'end_waits',
    waits: [{ nodeId: 'w', status, lateMs }],
  });
  const rows: [isMet: boolean, nowMs: number, expected: ReturnType<typeof decide>['kind'] | object][] = [
    [false, 1_000, { kind: 'wait', until: 2_000 }],
    [true, 1_000, end('met', 0)],
    [false, 2_000, end('not_met', 0)],
    [true, 2_000, end('met', 0)],
    [false, 2_000 + hour, end('not_met', hour)],
    [true, 2_001 + hour, { kind: 'miss', nodeIds: ['w'] }],
  ];
  for (const [isMet, nowMs, expected] of rows) {
    assert.deepEqual(decide(waiting(isMet), { flow, nowMs }), expected, `${isMet} at ${nowMs}`);
  }
  assert.deepEqual(begins([step('w', 'met')], flow), ['yes']);
  assert.deepEqual(begins([step('w', 'not_met')], flow), ['no']);
});
