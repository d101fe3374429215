import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Flow, FlowNode, TriggerData } from '@station/protocol/automation-flow';
import { checkFlow } from '@station/protocol/automation-flow-check';
import { findBuiltInType } from '@station/protocol/builtin-device-types';
import { flowOf, sentenceOf, waysOf, type Sentence } from './sentence.ts';

const hall = '019a9d2f-0002-7000-8000-000000000004';
const motion = { kind: 'device_event_received', config: { deviceId: hall, action: 'motion_detected' } } as const;
const evening: TriggerData = { kind: 'schedule', config: { time: '21:30', days: ['mon', 'sun'] } };
const night = { kind: 'time_range', config: { from: '22:00', to: '06:00' } } as const;
const warm = {
  kind: 'numeric_compare',
  config: { deviceId: hall, capability: 'temperature', operator: 'gt', value: 25 },
} as const;
const on = {
  kind: 'device_command',
  config: { deviceId: hall, action: 'turn_on' },
} as const;
const wait = { kind: 'delay', config: { seconds: 120 } } as const;
const notify = { kind: 'notify', config: { message: 'Good night' } } as const;

const still = {
  kind: 'wait_until',
  config: { until: { kind: 'state_equals', config: { deviceId: hall, capability: 'on', value: false } }, seconds: 60 },
} as const;
const orStop = { ...still, goesOn: false };
const orGoOn = { ...still, goesOn: true };

const scene = { kind: 'scene', config: { sceneId: '01890000-0000-7000-8000-00000000000b' } } as const;
const sentences: readonly Sentence[] = [
  { triggers: [motion], conditions: [], actions: [on], otherwise: [] },
  { triggers: [motion, evening], conditions: [night, warm], actions: [on, wait, notify, on], otherwise: [] },
  { triggers: [motion], conditions: [night, warm], actions: [on, orGoOn, notify], otherwise: [orStop, on] },
  { triggers: [motion], conditions: [], actions: [orStop, on, orStop], otherwise: [] },
  { triggers: [motion, evening], conditions: [warm], actions: [on], otherwise: [notify] },
  { triggers: [evening], conditions: [warm], actions: [scene], otherwise: [on, scene] },
  { triggers: [evening], conditions: [night], actions: [], otherwise: [] },
  { triggers: [evening, motion], conditions: [], actions: [], otherwise: [] },
  { triggers: [], conditions: [], actions: [], otherwise: [] },
];

test('a sentence becomes a flow and comes back as it was', () => {
  for (const sentence of sentences) assert.deepEqual(sentenceOf(flowOf(sentence)), sentence);
});

test('the station finds no fault in the graph of a sentence', () => {
  for (const sentence of sentences.slice(0, 6)) {
    const faults = checkFlow(flowOf(sentence), {
      device: () => ({ type: findBuiltInType('light') }),
      zone: () => null,
      scene: () => true,
      hasPlace: true,
      cronProblem: () => null,
    });
    assert.deepEqual(
      faults.filter(({ severity }) => severity === 'error'),
      [],
    );
  }
});

const node = (id: string, type: FlowNode['type'], data: FlowNode['data']): FlowNode => ({ id, type, data });
const fork: Flow = {
  nodes: [
    node('t', 'trigger', motion),
    node('c', 'condition', night),
    node('a', 'action', on),
    node('b', 'action', notify),
  ],
  edges: [
    { id: '1', source: 't', target: 'c' },
    { id: '2', source: 'c', target: 'a' },
    { id: '3', source: 'c', target: 'b', sourceHandle: 'false' },
  ],
};

test('what was drawn elsewhere is a sentence where it can be said as one', () => {
  assert.deepEqual(sentenceOf(fork), { triggers: [motion], conditions: [night], actions: [on], otherwise: [notify] });
});

test('a flow that forks, joins, goes round or has loose ends is no sentence', () => {
  const line = flowOf(sentences[1]!);
  const others: Flow[] = [
    { nodes: fork.nodes, edges: [...fork.edges, { id: '4', source: 'a', target: 'b' }] },
    { nodes: fork.nodes, edges: [fork.edges[0]!, fork.edges[2]!] },
    { nodes: fork.nodes, edges: [...fork.edges.slice(0, 2), { id: '3', source: 't', target: 'b' }] },
    // Only one of two conditions has another way.
    {
      ...flowOf(sentences[2]!),
      edges: flowOf(sentences[2]!).edges.filter(({ id }) => id !== 'condition-2-else-1-else'),
    },
    // Out of time, a wait leads past the next step.
    {
      nodes: [
        node('t', 'trigger', motion),
        node('w', 'condition', still),
        node('a', 'action', on),
        node('b', 'action', notify),
      ],
      edges: [
        { id: '1', source: 't', target: 'w' },
        { id: '2', source: 'w', target: 'a' },
        { id: '3', source: 'a', target: 'b' },
        { id: '4', source: 'w', target: 'b', sourceHandle: 'false' },
      ],
    },
    { nodes: line.nodes, edges: line.edges.slice(1) },
    { nodes: line.nodes, edges: line.edges.slice(0, -1) },
    { nodes: line.nodes, edges: [...line.edges, { id: 'x', source: 'action-4', target: 'condition-1' }] },
    { nodes: line.nodes, edges: [...line.edges, { id: 'x', source: 'trigger-1', target: 'action-2' }] },
    { nodes: [...line.nodes, node('lonely', 'action', notify)], edges: line.edges },
    { nodes: line.nodes, edges: line.edges.map((edge) => ({ ...edge, target: 'nowhere' })) },
    { nodes: [node('t', 'trigger', { kind: 'sunset', config: {} })], edges: [] },
    { nodes: [node('t', 'trigger', { kind: 'schedule', config: {} })], edges: [] },
  ];
  for (const flow of others) assert.equal(sentenceOf(flow), null, JSON.stringify(flow.edges));
  const late = flowOf({ triggers: [motion], conditions: [], actions: [on, wait], otherwise: [] });
  late.nodes[2] = node('action-2', 'condition', night);
  assert.equal(sentenceOf(late), null, 'a condition after an action');
});

test('every path through a fork is listed, and a circle ends', () => {
  const ways = waysOf(fork, 10);
  assert.deepEqual(
    ways.map((way) => way.map(({ nodeId, isNegated }) => (isNegated ? `not ${nodeId}` : nodeId)).join(' ')),
    ['t c a', 't not c b'],
  );
  assert.equal(waysOf(fork, 1).length, 1);
  const circle = { nodes: fork.nodes, edges: [...fork.edges, { id: '4', source: 'a', target: 'c' }] };
  assert.ok(waysOf(circle, 10).length >= 1);
});
