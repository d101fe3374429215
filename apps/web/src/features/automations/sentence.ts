import type {
  ActionData,
  ConditionData,
  Flow,
  FlowEdge,
  FlowNode,
  TriggerData,
} from '@station/protocol/automation-flow';
import { deviceOf, type Surroundings, typeOf } from './automations.ts';
import { numberIn, numberOf } from './options.ts';

/**
 * An automation as a sentence: when any of this, and only if all of that, then one after another. Every sentence is a flow;
 * a flow is a sentence when its graph is one line.
 */
export type Sentence = {
  triggers: readonly TriggerData[];
  conditions: readonly ConditionData[];
  actions: readonly ActionData[];
};

export type NodeData = TriggerData | ConditionData | ActionData;
export type Step = { nodeId: string; data: NodeData | null; kind: string; isNegated: boolean };

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';

/** What a node must at least have to become text. A draft that was made elsewhere may lack anything. */
const asks: Readonly<Record<string, (config: Readonly<Record<string, unknown>>) => boolean>> = {
  'trigger device_event_received': ({ deviceId }) => isText(deviceId),
  'trigger device_state_changed': ({ deviceId, capability }) => isText(deviceId) && isText(capability),
  'trigger device_status_changed': ({ deviceId }) => isText(deviceId),
  'trigger schedule': ({ cron, time }) => isText(cron) !== isText(time),
  'condition state_equals': ({ deviceId, capability, value }) =>
    isText(deviceId) && isText(capability) && ['boolean', 'number', 'string'].includes(typeof value),
  'condition numeric_compare': ({ deviceId, capability, operator, value }) =>
    isText(deviceId) && isText(capability) && isText(operator) && isNumber(value),
  'condition time_range': ({ from, to }) => isText(from) && isText(to),
  'action device_command': ({ deviceId, action }) => isText(deviceId) && isText(action),
  'action delay': ({ seconds }) => isNumber(seconds),
  'action webhook': ({ url }) => isText(url),
  'action notify': ({ message }) => isText(message),
};

const types = new Map(Object.keys(asks).map((key) => key.split(' ').reverse() as [string, FlowNode['type']]));

/** Each kind belongs to one type of node. */
export const nodeTypeOf = ({ kind }: NodeData): FlowNode['type'] => types.get(kind) ?? 'action';

/** Null for a kind that this page does not know, or that lacks its data. */
function known({ type, data }: FlowNode): NodeData | null {
  return asks[`${type} ${data.kind}`]?.(data.config) === true ? (data as unknown as NodeData) : null;
}

/** The sentence that a flow is; null when it is more than one line, or has a node that this page does not know. */
export function sentenceOf(flow: Flow): Sentence | null {
  const { nodes, edges } = flow;
  if (nodes.some((node) => known(node) === null) || edges.some(({ sourceHandle }) => sourceHandle === 'false'))
    return null;
  const triggers = nodes.filter(({ type }) => type === 'trigger');
  const line = lineOf(flow, triggers);
  if (line === null || triggers.length + line.length !== nodes.length) return null;
  if (edges.length !== (line.length === 0 ? 0 : triggers.length + line.length - 1)) return null;
  const firstAction = line.findIndex(({ type }) => type === 'action');
  const conditions = firstAction === -1 ? line : line.slice(0, firstAction);
  const actions = firstAction === -1 ? [] : line.slice(firstAction);
  if (actions.some(({ type }) => type !== 'action')) return null;
  const data = (some: readonly FlowNode[]): unknown[] => some.map((node) => known(node));
  return {
    triggers: data(triggers) as TriggerData[],
    conditions: data(conditions) as ConditionData[],
    actions: data(actions) as ActionData[],
  };
}

/** What follows the triggers, in order; null when they lead to different nodes, or the line forks. */
function lineOf({ nodes, edges }: Flow, triggers: readonly FlowNode[]): FlowNode[] | null {
  const starts = triggers.map(({ id }) => edges.filter(({ source }) => source === id).map(({ target }) => target));
  const heads = new Set(starts.flat());
  if (heads.size > 1 || starts.some(({ length }) => length > 1)) return null;
  if (heads.size === 1 && starts.some(({ length }) => length === 0)) return null;
  const line: FlowNode[] = [];
  let [next] = heads;
  while (next !== undefined) {
    const node = nodes.find(({ id }) => id === next);
    if (node === undefined || node.type === 'trigger' || line.includes(node)) return null;
    line.push(node);
    const after = edges.filter(({ source }) => source === node.id);
    if (after.length > 1) return null;
    next = after[0]?.target;
  }
  return line;
}

/** The flow that a sentence is. */
export function flowOf({ triggers, conditions, actions }: Sentence): Flow {
  const node = (type: FlowNode['type'], data: NodeData, number: number): FlowNode => ({
    id: `${type}-${number + 1}`,
    type,
    data: { kind: data.kind, config: data.config },
  });
  const starts = triggers.map((data, number) => node('trigger', data, number));
  const line = [
    ...conditions.map((data, number) => node('condition', data, number)),
    ...actions.map((data, number) => node('action', data, number)),
  ];
  const [head] = line;
  const edge = (source: string, target: string): FlowEdge => ({ id: `${source}-${target}`, source, target });
  const edges = [
    ...(head === undefined ? [] : starts.map(({ id }) => edge(id, head.id))),
    ...line.slice(1).map(({ id }, index) => edge(line[index]!.id, id)),
  ];
  return { nodes: [...starts, ...line], edges };
}

/** Every path through a flow that is no sentence, from a trigger to an end, at most `limit` of them. */
export function waysOf({ nodes, edges }: Flow, limit: number): Step[][] {
  const ways: Step[][] = [];
  const walk = (node: FlowNode, before: readonly Step[]): void => {
    if (ways.length >= limit || before.some(({ nodeId }) => nodeId === node.id)) return;
    const outs = edges.filter(({ source }) => source === node.id);
    const step = (isNegated: boolean): Step => ({
      nodeId: node.id,
      data: known(node),
      kind: node.data.kind,
      isNegated,
    });
    if (outs.length === 0) ways.push([...before, step(false)]);
    for (const { target, sourceHandle } of outs) {
      const next = nodes.find(({ id }) => id === target);
      if (next) walk(next, [...before, step(sourceHandle === 'false')]);
    }
  };
  for (const node of nodes) if (node.type === 'trigger') walk(node, []);
  return ways;
}

/** What a node of a flow does, for a step of a run. */
export function nodeData(flow: Flow | null, nodeId: string): NodeData | null {
  const node = flow?.nodes.find(({ id }) => id === nodeId);
  return node === undefined ? null : known(node);
}

type Part = TriggerData | ConditionData | ActionData;
export type PartFault = 'nothing' | 'device' | 'number' | 'range' | 'text' | 'days' | 'delay' | 'address';

/** Longest wait (protocol, `maxDelaySeconds`). */
const longestSeconds = 7 * 24 * 3600;
const timeOfDay = /^([01]\d|2[0-3]):[0-5]\d$/;

/** What keeps a part from being saved; null when it is complete. `null` is a part that nothing was chosen for yet. */
export function partFault(around: Surroundings, part: Part | null): PartFault | null {
  if (part === null) return 'nothing';
  if ('deviceId' in part.config && deviceOf(around, part.config.deviceId) === undefined) return 'device';
  const number = numberIn(part);
  if (number !== null && !Number.isFinite(number)) return 'number';
  switch (part.kind) {
    case 'schedule':
      if (part.config.days?.length === 0) return 'days';
      return part.config.cron === undefined ? timeFault(part.config.time) : textFault(part.config.cron);
    case 'time_range':
      if (part.config.days?.length === 0) return 'days';
      return timeFault(part.config.from) ?? timeFault(part.config.to);
    case 'delay': {
      const { seconds } = part.config;
      return Number.isInteger(seconds) && seconds >= 1 && seconds <= longestSeconds ? null : 'delay';
    }
    case 'notify':
      return textFault(part.config.message);
    case 'webhook':
      return /^https?:\/\//.test(part.config.url) && URL.canParse(part.config.url) ? null : 'address';
    case 'device_command': {
      const limits = numberOf(typeOf(around, part.config.deviceId), part.config.action);
      if (limits === null || number === null) return null;
      const { min, max } = limits;
      return (min !== undefined && number < min) || (max !== undefined && number > max) ? 'range' : null;
    }
    case 'device_event_received':
    case 'device_state_changed':
    case 'device_status_changed':
    case 'state_equals':
    case 'numeric_compare':
      return null;
  }
}

const timeFault = (time: string | undefined): 'text' | null => (timeOfDay.test(time ?? '') ? null : 'text');
const textFault = (text: string): 'text' | null => (text.trim() === '' ? 'text' : null);
