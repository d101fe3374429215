import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFlow, isSound, type FlowSurroundings } from './automation-flow-check.ts';
import type { Flow, FlowNode } from './automation-flow.ts';

const lamp = '01890000-0000-7000-8000-000000000001';
const sensor = '01890000-0000-7000-8000-000000000002';
const surroundings: FlowSurroundings = {
  deviceType: (id) => (id === lamp ? 'light' : id === sensor ? 'pir' : null),
  cronProblem: (expression) => (expression === 'bad' ? 'It is bad.' : null),
};

const node = (id: string, type: FlowNode['type'], kind: string, config: Record<string, unknown>): FlowNode => ({
  id,
  type,
  data: { kind, config },
});
const motion = node('motion', 'trigger', 'device_state_changed', {
  deviceId: sensor,
  capability: 'motion',
  operator: 'eq',
  value: true,
});
const on = node('on', 'action', 'device_command', { deviceId: lamp, action: 'set_power', params: { power: true } });
const wait = node('wait', 'action', 'delay', { seconds: 120 });
const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target });

const told = (flow: Flow): string[] => checkFlow(flow, surroundings).map(({ code, pointer }) => `${code} ${pointer}`);
/** Of a trigger beside the flow's one. */
const ofTrigger = (kind: string, config: Record<string, unknown>): string[] =>
  told({ nodes: [node('t', 'trigger', kind, config)], edges: [] });
const ofAction = (kind: string, config: Record<string, unknown>): string[] =>
  told({ nodes: [motion, node('a', 'action', kind, config)], edges: [edge('motion', 'a')] });

test('a sound flow has no fault', () => {
  const flow: Flow = { nodes: [motion, on, wait], edges: [edge('motion', 'on'), edge('on', 'wait')] };
  const faults = checkFlow(flow, surroundings);
  assert.deepEqual(faults, []);
  assert.ok(isSound(flow, faults));
});

test('a circle, a dangling edge, an edge into a trigger, ids given twice: each with its place', () => {
  const nodes = [motion, on, wait, on];
  const edges = [
    edge('motion', 'on'),
    edge('on', 'wait'),
    edge('wait', 'on'),
    edge('on', 'nowhere'),
    edge('wait', 'motion'),
    edge('motion', 'on'),
  ];
  assert.deepEqual(told({ nodes, edges }).sort(), [
    'cycle /edges/2',
    'cycle /edges/4',
    'dangling_edge /edges/3/target',
    'duplicate_edge /edges/5/id',
    'duplicate_node /nodes/3/id',
    'edge_into_trigger /edges/4/target',
  ]);
  assert.deepEqual(told({ nodes: [motion, on], edges: [edge('on', 'on')] }), [
    'cycle /edges/0',
    'unreachable /nodes/1',
  ]);
});

test('only a condition has an edge for "not met"', () => {
  const range = node('night', 'condition', 'time_range', { from: '22:00', to: '06:00' });
  const otherwise = { ...edge('night', 'on'), sourceHandle: 'false' as const };
  assert.deepEqual(told({ nodes: [motion, range, on], edges: [edge('motion', 'night'), otherwise] }), []);
  const wrong = { ...edge('motion', 'on'), sourceHandle: 'false' as const };
  assert.deepEqual(told({ nodes: [motion, on], edges: [wrong] }), ['edge_handle /edges/0/sourceHandle']);
});

test('a flow that nothing starts or that is too large is refused; a node that nothing leads to is only a warning', () => {
  assert.deepEqual(told({ nodes: [], edges: [] }), ['no_trigger /nodes']);
  const many = Array.from({ length: 101 }, (_, index) => ({ ...motion, id: `t${index}` }));
  assert.deepEqual(told({ nodes: many, edges: [] }), ['too_many_nodes /nodes']);
  const flow: Flow = { nodes: [motion, on], edges: [] };
  const faults = checkFlow(flow, surroundings);
  assert.deepEqual(
    faults.map(({ code, severity, nodeId }) => [code, severity, nodeId]),
    [['unreachable', 'warning', 'on']],
  );
  assert.ok(isSound(flow, faults));
  const long = Array.from({ length: 1_000 }, (_, index) => ({ ...wait, id: `n${index}` }));
  const chain = long.slice(1).map(({ id }, index) => edge(`n${index}`, id));
  assert.ok(told({ nodes: long, edges: chain }).includes('too_many_nodes /nodes'));
});

test('unknown kinds and configs of the wrong form are told with their place', () => {
  assert.deepEqual(ofTrigger('sunrise', {}), ['unknown_kind /nodes/0/data/kind']);
  assert.deepEqual(ofTrigger('constructor', {}), ['unknown_kind /nodes/0/data/kind']);
  assert.deepEqual(ofTrigger('delay', { seconds: 1 }), ['unknown_kind /nodes/0/data/kind']);
  assert.deepEqual(ofAction('delay', {}), ['config_invalid /nodes/1/data/config/seconds']);
  assert.deepEqual(ofAction('delay', { seconds: 0.5 }), ['config_invalid /nodes/1/data/config/seconds']);
  assert.deepEqual(ofAction('delay', { seconds: 1, more: 2 }), ['config_invalid /nodes/1/data/config/more']);
  assert.deepEqual(ofAction('notify', { message: '  ' }), ['config_invalid /nodes/1/data/config/message']);
  assert.deepEqual(ofAction('webhook', { url: 'ftp://example.org' }), ['config_invalid /nodes/1/data/config/url']);
  assert.deepEqual(ofAction('webhook', { url: 'http://[' }), ['config_invalid /nodes/1/data/config/url']);
});

test('a schedule is either a cron expression or a time of day', () => {
  const at = '/nodes/0/data/config';
  assert.deepEqual(ofTrigger('schedule', { cron: '0 7 * * 1-5' }), []);
  assert.deepEqual(ofTrigger('schedule', { time: '07:00', days: ['mon', 'sun'] }), []);
  assert.deepEqual(ofTrigger('schedule', {}), [`schedule_invalid ${at}`]);
  assert.deepEqual(ofTrigger('schedule', { cron: '* * * * *', time: '07:00' }), [`schedule_invalid ${at}`]);
  assert.deepEqual(ofTrigger('schedule', { cron: '* * * * *', days: ['mon'] }), [`schedule_invalid ${at}/days`]);
  assert.deepEqual(ofTrigger('schedule', { cron: 'bad' }), [`schedule_invalid ${at}/cron`]);
  assert.deepEqual(ofTrigger('schedule', { time: '24:00' }), [`config_invalid ${at}/time`]);
  assert.deepEqual(ofTrigger('schedule', { time: '07:00', days: [] }), [`config_invalid ${at}/days`]);
});

test('a state is compared by an operator and a value, of which both or none are given', () => {
  const of = (config: Record<string, unknown>): string[] =>
    ofTrigger('device_state_changed', { deviceId: sensor, capability: 'motion', ...config });
  const at = '/nodes/0/data/config';
  assert.deepEqual(of({}), []);
  assert.deepEqual(of({ operator: 'gt', value: 25 }), []);
  assert.deepEqual(of({ operator: 'eq' }), [`config_invalid ${at}/value`]);
  assert.deepEqual(of({ value: true }), [`config_invalid ${at}/operator`]);
  assert.deepEqual(of({ operator: 'gt', value: 'x' }), [`config_invalid ${at}/value`]);
});

test('a command must be one that the device understands and an automation may send', () => {
  const of = (config: Record<string, unknown>): string[] => ofAction('device_command', { deviceId: lamp, ...config });
  const at = '/nodes/1/data/config';
  assert.deepEqual(of({ action: 'set_brightness', params: { brightness: 40 } }), []);
  assert.deepEqual(of({ action: 'reboot' }), []);
  assert.deepEqual(of({ action: 'set_brightness', params: { brightness: 500 } }), [
    `command_params ${at}/params/brightness`,
  ]);
  assert.deepEqual(of({ action: 'set_power' }), [`command_params ${at}/params/power`]);
  assert.deepEqual(of({ action: 'dance' }), [`unknown_command ${at}/action`]);
  assert.deepEqual(of({ action: 'factory_reset' }), [`command_not_allowed ${at}/action`]);
  const gone = '01890000-0000-7000-8000-000000000009';
  assert.deepEqual(of({ deviceId: gone, action: 'set_power' }), [`unknown_device ${at}/deviceId`]);
});
