import { ownValue } from './own-value.ts';
import type { TObject } from 'typebox';
import { Value } from 'typebox/value';
import {
  commandsNotForAutomations,
  maxEdges,
  maxNodes,
  nodeConfigs,
  type ActionData,
  type CheckedFlow,
  type ConditionData,
  type Flow,
  type FlowNode,
  type SunTime,
  type TriggerData,
} from './automation-flow.ts';
import type { FlowFault } from './automations.ts';
import { actionsOf, commandSchema } from './device-command-schemas.ts';
import type { DeviceType } from './device-types.ts';
import { errorWords } from './schema-words.ts';

/** The facts that a flow is checked against. */
export type FlowContext = {
  /** The device, with its type where the station knows it; null when there is no such device. */
  device: (deviceId: string) => { type: DeviceType | undefined } | null;
  /** The types of the devices in the zone, undefined where the station does not know them; null when there is no such zone. */
  zone: (zoneId: string) => readonly (DeviceType | undefined)[] | null;
  /** Whether there is this scene. */
  scene: (sceneId: string) => boolean;
  /** Whether the station knows where it is, for sunrise and sunset. */
  hasPlace: boolean;
  /** The fault of a cron expression, in English; null when it is valid. */
  cronProblem: (expression: string) => string | null;
};

/** All faults of a flow. Without faults of severity `error`, the flow is a `CheckedFlow` and can be published. Pure. */
export function checkFlow(flow: Flow, context: FlowContext): FlowFault[] {
  return [
    ...checkSize(flow),
    ...flow.nodes.flatMap((node, index) => checkNode(node, index, context)),
    ...checkEdges(flow),
    ...findCycles(flow),
    ...findUnreachable(flow),
  ];
}

/** Whether a flow can be published. */
export function isPublishable(_flow: Flow, faults: readonly FlowFault[]): _flow is Flow & CheckedFlow {
  return faults.every(({ severity }) => severity === 'warning');
}

type Found = Pick<FlowFault, 'code' | 'pointer' | 'message'>;
const faultOf = (nodeId: string | null, found: Found): FlowFault => ({ severity: 'error', ...found, nodeId });

function checkSize({ nodes, edges }: Flow): FlowFault[] {
  const faults: FlowFault[] = [];
  const add = (code: FlowFault['code'], pointer: string, message: string): void =>
    void faults.push(faultOf(null, { code, pointer, message }));
  if (nodes.length > maxNodes) add('too_many_nodes', '/nodes', `There are more than ${maxNodes} nodes.`);
  if (edges.length > maxEdges) add('too_many_edges', '/edges', `There are more than ${maxEdges} edges.`);
  if (!nodes.some(({ type }) => type === 'trigger')) add('no_trigger', '/nodes', 'Nothing starts it: add a trigger.');
  for (const index of repeated(nodes)) add('duplicate_node', `/nodes/${index}/id`, 'Another node has this id.');
  for (const index of repeated(edges)) add('duplicate_edge', `/edges/${index}/id`, 'Another edge has this id.');
  return faults;
}

function repeated(items: readonly { id: string }[]): number[] {
  const seen = new Set<string>();
  return items.flatMap(({ id }, index) => {
    if (seen.has(id)) return [index];
    seen.add(id);
    return [];
  });
}

function checkNode(node: FlowNode, index: number, context: FlowContext): FlowFault[] {
  const { id, type, data } = node;
  const at = `/nodes/${index}/data`;
  const configs: Record<string, TObject> = nodeConfigs[type];
  const schema = ownValue(configs, data.kind);
  if (schema === undefined) {
    const message = `There is no ${type} of this kind. Known kinds: ${Object.keys(configs).join(', ')}.`;
    return [faultOf(id, { code: 'unknown_kind', pointer: `${at}/kind`, message })];
  }
  const errors = schemaFaults(schema, data.config).map(({ pointer, message }): Found => {
    return { code: 'config_invalid', pointer: `${at}/config${pointer}`, message };
  });
  if (errors.length > 0) return errors.map((error) => faultOf(id, error));
  const more = checkConfig(data as TriggerData | ConditionData | ActionData, context);
  return more.map((found) => faultOf(id, { ...found, pointer: `${at}/config${found.pointer}` }));
}

/** Faults of a config that has the right shape. */
function checkConfig(data: TriggerData | ConditionData | ActionData, context: FlowContext): Found[] {
  const { kind, config } = data;
  switch (kind) {
    case 'schedule':
      return checkSchedule(config, context);
    case 'device_command':
      return checkCommand(config, context);
    case 'device_state_changed':
      return [...checkDevice(config.deviceId, context), ...checkComparison(config)];
    case 'zone_state_changed':
      return [...checkZone(config.zoneId, context), ...checkComparison(config)];
    case 'zone_command':
      return checkZoneCommand(config, context);
    case 'scene':
      return context.scene(config.sceneId)
        ? []
        : [{ code: 'unknown_scene', pointer: '/sceneId', message: 'There is no such scene.' }];
    case 'wait_until':
      return checkConfig(config.until, context).map((found) => ({
        ...found,
        pointer: `/until/config${found.pointer}`,
      }));
    case 'device_event_received':
    case 'device_status_changed':
    case 'state_equals':
    case 'numeric_compare':
      return checkDevice(config.deviceId, context);
    case 'webhook':
      return URL.canParse(config.url)
        ? []
        : [{ code: 'config_invalid', pointer: '/url', message: 'This is not an address.' }];
    case 'time_range':
      return [...checkSun(config.from, '/from', context), ...checkSun(config.to, '/to', context)];
    case 'delay':
    case 'notify':
      return [];
  }
}

const checkSun = (time: SunTime | string, pointer: string, { hasPlace }: FlowContext): Found[] =>
  typeof time === 'string' || hasPlace
    ? []
    : [{ code: 'no_place', pointer, message: 'The place of the station is not set: the sun is not known.' }];

const checkZone = (zoneId: string, { zone }: FlowContext): Found[] =>
  zone(zoneId) === null ? [{ code: 'unknown_zone', pointer: '/zoneId', message: 'There is no such zone.' }] : [];

function checkDevice(deviceId: string, { device }: FlowContext): Found[] {
  if (device(deviceId) !== null) return [];
  return [{ code: 'unknown_device', pointer: '/deviceId', message: 'There is no such device.' }];
}

type Comparison = Pick<
  Extract<TriggerData, { kind: 'device_state_changed' }>['config'],
  'capability' | 'operator' | 'value'
>;

function checkComparison({ operator, value }: Comparison): Found[] {
  const wrong = (pointer: string, message: string): Found[] => [{ code: 'config_invalid', pointer, message }];
  if (operator === undefined && value === undefined) return [];
  if (operator === undefined) return wrong('/operator', 'A value needs an operator.');
  if (value === undefined) return wrong('/value', 'An operator needs a value.');
  const isOrder = operator !== 'eq' && operator !== 'ne';
  return isOrder && typeof value !== 'number'
    ? wrong('/value', 'Only numbers can be compared with less or greater.')
    : [];
}

type Schedule = Extract<TriggerData, { kind: 'schedule' }>['config'];

function checkSchedule({ cron, time, sun, days }: Schedule, context: FlowContext): Found[] {
  const wrong = (pointer: string, message: string): Found[] => [{ code: 'schedule_invalid', pointer, message }];
  if ([cron, time, sun].filter((one) => one !== undefined).length !== 1) {
    return wrong('', 'Give one of "cron", "time" and "sun".');
  }
  if (sun !== undefined) return checkSun(sun, '/sun', context);
  if (cron === undefined) return [];
  if (days !== undefined) return wrong('/days', 'A cron expression has its own days.');
  const { cronProblem } = context;
  const problem = cronProblem(cron);
  return problem === null ? [] : wrong('/cron', problem);
}

type DeviceCommandConfig = Extract<ActionData, { kind: 'device_command' }>['config'];

function checkCommand({ deviceId, action, params = {} }: DeviceCommandConfig, around: FlowContext): Found[] {
  const device = around.device(deviceId);
  if (device === null) return checkDevice(deviceId, around);
  if (commandsNotForAutomations.includes(action)) return notAllowed;
  const schema = commandSchema(device.type, action);
  if (schema === null) {
    const known = actionsOf(device.type).filter((one) => !commandsNotForAutomations.includes(one));
    const message = `The device does not understand this command. Known commands: ${known.join(', ')}.`;
    return [{ code: 'unknown_command', pointer: '/action', message }];
  }
  return schemaFaults(schema, params).map(({ pointer, message }) => {
    return { code: 'command_params', pointer: `/params${pointer}`, message };
  });
}

const notAllowed: Found[] = [
  { code: 'command_not_allowed', pointer: '/action', message: 'An automation may not send this command.' },
];

type ZoneCommandConfig = Extract<ActionData, { kind: 'zone_command' }>['config'];

function checkZoneCommand({ zoneId, action, params = {} }: ZoneCommandConfig, around: FlowContext): Found[] {
  const types = around.zone(zoneId);
  if (types === null) return checkZone(zoneId, around);
  if (commandsNotForAutomations.includes(action)) return notAllowed;
  const schemas = types.flatMap((type) => commandSchema(type, action) ?? []);
  if (schemas.length === 0) {
    return [
      { code: 'unknown_command', pointer: '/action', message: 'No device of the zone understands this command.' },
    ];
  }
  const faults = schemas.map((schema) => schemaFaults(schema, params));
  // Devices that do not take the parameters are left out.
  if (faults.some(({ length }) => length === 0)) return [];
  return (faults[0] ?? []).map(({ pointer, message }) => {
    return { code: 'command_params', pointer: `/params${pointer}`, message };
  });
}

/** Whether a device of this type is meant by the command of a zone. */
export function takesCommand(type: DeviceType | undefined, { action, params = {} }: ZoneCommandConfig): boolean {
  const schema = commandSchema(type, action);
  return schema !== null && Value.Check(schema, params);
}

/** One fault per place, as in the validation of requests. */
function schemaFaults(schema: TObject, value: unknown): { pointer: string; message: string }[] {
  const faults = new Map<string, string>();
  for (const error of Value.Errors(schema, value)) {
    const { keyword, instancePath, params } = error;
    if (keyword === 'required') {
      for (const name of params.requiredProperties) faults.set(`${instancePath}/${name}`, 'This is required.');
    } else if (keyword === 'boolean') {
      faults.set(instancePath, 'This is not a known key.');
    } else if (keyword !== 'additionalProperties' && !faults.has(instancePath)) {
      faults.set(instancePath, `This ${errorWords(schema, error)}.`);
    }
  }
  return [...faults].map(([pointer, message]) => ({ pointer, message }));
}

function checkEdges({ nodes, edges }: Flow): FlowFault[] {
  const types = new Map(nodes.map(({ id, type }) => [id, type]));
  return edges.flatMap(({ source, target, sourceHandle }, index) => {
    const found: Found[] = [];
    const at = `/edges/${index}`;
    const missing = 'There is no node with this id.';
    if (!types.has(source)) found.push({ code: 'dangling_edge', pointer: `${at}/source`, message: missing });
    if (!types.has(target)) found.push({ code: 'dangling_edge', pointer: `${at}/target`, message: missing });
    if (types.get(target) === 'trigger') {
      found.push({ code: 'edge_into_trigger', pointer: `${at}/target`, message: 'No edge may lead into a trigger.' });
    }
    if (sourceHandle !== undefined && types.has(source) && types.get(source) !== 'condition') {
      const message = 'Only a condition has two outputs.';
      found.push({ code: 'edge_handle', pointer: `${at}/sourceHandle`, message });
    }
    return found.map((one) => faultOf(types.has(source) ? source : null, one));
  });
}

/** Finds every edge that closes a cycle. */
function findCycles({ nodes, edges }: Flow): FlowFault[] {
  const faults: FlowFault[] = [];
  const outgoing = Map.groupBy(
    edges.map(({ source, target }, index) => ({ source, target, index })),
    ({ source }) => source,
  );
  const state = new Map<string, 'open' | 'done'>();
  const visit = (id: string): void => {
    state.set(id, 'open');
    for (const { target, index } of outgoing.get(id) ?? []) {
      if (state.get(target) === 'open') {
        const message = 'This edge closes a cycle: the run would never end.';
        faults.push(faultOf(id, { code: 'cycle', pointer: `/edges/${index}`, message }));
      } else if (!state.has(target)) visit(target);
    }
    state.set(id, 'done');
  };
  for (const { id } of nodes) if (!state.has(id)) visit(id);
  return faults;
}

function findUnreachable({ nodes, edges }: Flow): FlowFault[] {
  const reached = new Set(nodes.filter(({ type }) => type === 'trigger').map(({ id }) => id));
  const outgoing = Map.groupBy(edges, ({ source }) => source);
  // Iterating a set also visits the items added during the loop.
  for (const id of reached) for (const { target } of outgoing.get(id) ?? []) reached.add(target);
  return nodes.flatMap(({ id }, index) => {
    if (reached.has(id)) return [];
    const message = 'No trigger leads here.';
    return [
      { ...faultOf(id, { code: 'unreachable', pointer: `/nodes/${index}`, message }), severity: 'warning' as const },
    ];
  });
}
