import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkFlow, isPublishable, type FlowContext } from './automation-flow-check.ts';
import { findBuiltInType } from './builtin-device-types.ts';
import type { Flow, FlowNode } from './automation-flow.ts';

const lamp = '01890000-0000-7000-8000-000000000001';
const sensor = '01890000-0000-7000-8000-000000000002';
const hall = '01890000-0000-7000-8000-00000000000a';
const evening = '01890000-0000-7000-8000-00000000000b';
const context: FlowContext = {
  zone: (id) => (id === hall ? [findBuiltInType('light'), findBuiltInType('pir'), undefined] : null),
  scene: (id) => id === evening,
  hasPlace: true,
  device: (id) =>
    ({ [lamp]: { type: findBuiltInType('light') }, [sensor]: { type: findBuiltInType('pir') } })[id] ?? null,
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
const on = node('on', 'action', 'device_command', { deviceId: lamp, action: 'turn_on' });
const wait = node('wait', 'action', 'delay', { seconds: 120 });
const edge = (source: string, target: string) => ({ id: `${source}-${target}`, source, target });

const faultsOf = (flow: Flow): string[] => checkFlow(flow, context).map(({ code, pointer }) => `${code} ${pointer}`);
const ofConditionConfig = (kind: string, config: Record<string, unknown>, around = context): string[] => {
  const nodes = [motion, node('c', 'condition', kind, config)];
  return checkFlow({ nodes, edges: [edge('motion', 'c')] }, around).map(({ code, pointer }) => `${code} ${pointer}`);
};
const ofTriggerConfig = (kind: string, config: Record<string, unknown>): string[] =>
  faultsOf({ nodes: [node('t', 'trigger', kind, config)], edges: [] });
const ofActionConfig = (kind: string, config: Record<string, unknown>): string[] =>
  faultsOf({ nodes: [motion, node('a', 'action', kind, config)], edges: [edge('motion', 'a')] });

test('a correct flow has no fault', () => {
  const flow: Flow = { nodes: [motion, on, wait], edges: [edge('motion', 'on'), edge('on', 'wait')] };
  const faults = checkFlow(flow, context);
  assert.deepEqual(faults, []);
  assert.ok(isPublishable(flow, faults));
});

test('reports the place of a cycle, a dangling edge, an edge into a trigger and duplicate ids', () => {
  const nodes = [motion, on, wait, on];
  const edges = [
    edge('motion', 'on'),
    edge('on', 'wait'),
    edge('wait', 'on'),
    edge('on', 'nowhere'),
    edge('wait', 'motion'),
    edge('motion', 'on'),
  ];
  assert.deepEqual(faultsOf({ nodes, edges }).sort(), [
    'cycle /edges/2',
    'cycle /edges/4',
    'dangling_edge /edges/3/target',
    'duplicate_edge /edges/5/id',
    'duplicate_node /nodes/3/id',
    'edge_into_trigger /edges/4/target',
  ]);
  assert.deepEqual(faultsOf({ nodes: [motion, on], edges: [edge('on', 'on')] }), [
    'cycle /edges/0',
    'unreachable /nodes/1',
  ]);
});

test('only a condition has an edge for "not met"', () => {
  const range = node('night', 'condition', 'time_range', { from: '22:00', to: '06:00' });
  const otherwise = { ...edge('night', 'on'), sourceHandle: 'false' as const };
  assert.deepEqual(faultsOf({ nodes: [motion, range, on], edges: [edge('motion', 'night'), otherwise] }), []);
  const wrong = { ...edge('motion', 'on'), sourceHandle: 'false' as const };
  assert.deepEqual(faultsOf({ nodes: [motion, on], edges: [wrong] }), ['edge_handle /edges/0/sourceHandle']);
});

test('refuses a flow without a trigger or one that is too large, and warns of an unreachable node', () => {
  assert.deepEqual(faultsOf({ nodes: [], edges: [] }), ['no_trigger /nodes']);
  const many = Array.from({ length: 101 }, (_, index) => ({ ...motion, id: `t${index}` }));
  assert.deepEqual(faultsOf({ nodes: many, edges: [] }), ['too_many_nodes /nodes']);
  const flow: Flow = { nodes: [motion, on], edges: [] };
  const faults = checkFlow(flow, context);
  assert.deepEqual(
    faults.map(({ code, severity, nodeId }) => [code, severity, nodeId]),
    [['unreachable', 'warning', 'on']],
  );
  assert.ok(isPublishable(flow, faults));
  const long = Array.from({ length: 1_000 }, (_, index) => ({ ...wait, id: `n${index}` }));
  const chain = long.slice(1).map(({ id }, index) => edge(`n${index}`, id));
  assert.ok(faultsOf({ nodes: long, edges: chain }).includes('too_many_nodes /nodes'));
});

test('reports the place of unknown kinds and invalid configs', () => {
  assert.deepEqual(ofTriggerConfig('sunrise', {}), ['unknown_kind /nodes/0/data/kind']);
  assert.deepEqual(ofTriggerConfig('constructor', {}), ['unknown_kind /nodes/0/data/kind']);
  assert.deepEqual(ofTriggerConfig('delay', { seconds: 1 }), ['unknown_kind /nodes/0/data/kind']);
  assert.deepEqual(ofActionConfig('delay', {}), ['config_invalid /nodes/1/data/config/seconds']);
  assert.deepEqual(ofActionConfig('delay', { seconds: 0.5 }), ['config_invalid /nodes/1/data/config/seconds']);
  assert.deepEqual(ofActionConfig('delay', { seconds: 1, more: 2 }), ['config_invalid /nodes/1/data/config/more']);
  assert.deepEqual(ofActionConfig('notify', { message: '  ' }), ['config_invalid /nodes/1/data/config/message']);
  assert.deepEqual(ofActionConfig('webhook', { url: 'ftp://example.org' }), [
    'config_invalid /nodes/1/data/config/url',
  ]);
  assert.deepEqual(ofActionConfig('webhook', { url: 'http://[' }), ['config_invalid /nodes/1/data/config/url']);
});

test('a schedule is either a cron expression or a time of day', () => {
  const at = '/nodes/0/data/config';
  assert.deepEqual(ofTriggerConfig('schedule', { cron: '0 7 * * 1-5' }), []);
  assert.deepEqual(ofTriggerConfig('schedule', { time: '07:00', days: ['mon', 'sun'] }), []);
  assert.deepEqual(ofTriggerConfig('schedule', {}), [`schedule_invalid ${at}`]);
  assert.deepEqual(ofTriggerConfig('schedule', { cron: '* * * * *', time: '07:00' }), [`schedule_invalid ${at}`]);
  assert.deepEqual(ofTriggerConfig('schedule', { cron: '* * * * *', days: ['mon'] }), [`schedule_invalid ${at}/days`]);
  assert.deepEqual(ofTriggerConfig('schedule', { cron: 'bad' }), [`schedule_invalid ${at}/cron`]);
  assert.deepEqual(ofTriggerConfig('schedule', { time: '24:00' }), [`config_invalid ${at}/time`]);
  assert.deepEqual(ofTriggerConfig('schedule', { time: '07:00', days: [] }), [`config_invalid ${at}/days`]);
});

test('a comparison needs both operator and value, or neither', () => {
  const of = (config: Record<string, unknown>): string[] =>
    ofTriggerConfig('device_state_changed', { deviceId: sensor, capability: 'motion', ...config });
  const at = '/nodes/0/data/config';
  assert.deepEqual(of({}), []);
  assert.deepEqual(of({ operator: 'gt', value: 25 }), []);
  assert.deepEqual(of({ operator: 'eq' }), [`config_invalid ${at}/value`]);
  assert.deepEqual(of({ value: true }), [`config_invalid ${at}/operator`]);
  assert.deepEqual(of({ operator: 'gt', value: 'x' }), [`config_invalid ${at}/value`]);
});

test('a command must be known to the device and allowed for automations', () => {
  const of = (config: Record<string, unknown>): string[] =>
    ofActionConfig('device_command', { deviceId: lamp, ...config });
  const at = '/nodes/1/data/config';
  assert.deepEqual(of({ action: 'set_brightness', params: { brightness: 40 } }), []);
  assert.deepEqual(of({ action: 'reboot' }), []);
  assert.deepEqual(of({ action: 'set_brightness', params: { brightness: 500 } }), [
    `command_params ${at}/params/brightness`,
  ]);
  assert.deepEqual(of({ action: 'set_brightness' }), [`command_params ${at}/params/brightness`]);
  assert.deepEqual(of({ action: 'dance' }), [`unknown_command ${at}/action`]);
  assert.deepEqual(of({ action: 'factory_reset' }), [`command_not_allowed ${at}/action`]);
  const gone = '01890000-0000-7000-8000-000000000009';
  assert.deepEqual(of({ deviceId: gone, action: 'turn_on' }), [`unknown_device ${at}/deviceId`]);
});

test('the sun needs the place of the station', () => {
  const sun = { event: 'sunset', offsetMinutes: -30 };
  const nowhere = { ...context, hasPlace: false };
  assert.deepEqual(ofTriggerConfig('schedule', { sun, days: ['mon'] }), []);
  assert.deepEqual(ofTriggerConfig('schedule', { sun, time: '07:00' }), ['schedule_invalid /nodes/0/data/config']);
  assert.deepEqual(ofTriggerConfig('schedule', { sun: { event: 'noon' } }), [
    'config_invalid /nodes/0/data/config/sun/event',
  ]);
  assert.deepEqual(ofTriggerConfig('schedule', { sun: { ...sun, offsetMinutes: 361 } }), [
    'config_invalid /nodes/0/data/config/sun/offsetMinutes',
  ]);
  const range = { from: sun, to: '23:00' };
  assert.deepEqual(ofConditionConfig('time_range', range), []);
  assert.deepEqual(ofConditionConfig('time_range', range, nowhere), ['no_place /nodes/1/data/config/from']);
  const until = { kind: 'time_range', config: { from: '10:00', to: sun } };
  assert.deepEqual(ofConditionConfig('wait_until', { until, seconds: 60 }, nowhere), [
    'no_place /nodes/1/data/config/until/config/to',
  ]);
});

test('a wait has a condition that is judged at once, and a time limit', () => {
  const of = (config: object): string[] => ofConditionConfig('wait_until', { seconds: 60, ...config });
  const dark = { kind: 'state_equals', config: { deviceId: sensor, capability: 'motion', value: false } };
  assert.deepEqual(of({ until: dark }), []);
  assert.deepEqual(of({ until: dark, seconds: 0 }), ['config_invalid /nodes/1/data/config/seconds']);
  assert.notDeepEqual(of({ until: { kind: 'wait_until', config: { until: dark, seconds: 1 } } }), []);
  const gone = { ...dark, config: { ...dark.config, deviceId: '01890000-0000-7000-8000-000000000009' } };
  assert.deepEqual(of({ until: gone }), ['unknown_device /nodes/1/data/config/until/config/deviceId']);
});

test('a zone must exist, and a command of it must fit one of its devices', () => {
  const none = '01890000-0000-7000-8000-00000000000b';
  const trigger = { capability: 'motion', operator: 'eq', value: true };
  assert.deepEqual(ofTriggerConfig('zone_state_changed', { zoneId: hall, ...trigger }), []);
  assert.deepEqual(ofTriggerConfig('zone_state_changed', { zoneId: none, ...trigger }), [
    'unknown_zone /nodes/0/data/config/zoneId',
  ]);
  const at = '/nodes/1/data/config';
  const of = (config: object): string[] => ofActionConfig('zone_command', { zoneId: hall, ...config });
  assert.deepEqual(of({ action: 'set_brightness', params: { brightness: 40 } }), []);
  assert.deepEqual(of({ action: 'set_brightness', params: { brightness: 500 } }), [
    `command_params ${at}/params/brightness`,
  ]);
  assert.deepEqual(of({ action: 'dance' }), [`unknown_command ${at}/action`]);
  assert.deepEqual(of({ action: 'factory_reset' }), [`command_not_allowed ${at}/action`]);
  assert.deepEqual(of({ zoneId: none, action: 'reboot' }), [`unknown_zone ${at}/zoneId`]);
});

test('a scene must exist', () => {
  assert.deepEqual(ofActionConfig('scene', { sceneId: evening }), []);
  const at = '/nodes/1/data/config/sceneId';
  assert.deepEqual(ofActionConfig('scene', { sceneId: hall }), [`unknown_scene ${at}`]);
  assert.deepEqual(ofActionConfig('scene', {}), [`config_invalid ${at}`]);
});
