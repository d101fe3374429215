import type {
  ActionData,
  ConditionData,
  Flow,
  FlowEdge,
  FlowNode,
  InstantCondition,
  SunTime,
  TriggerData,
} from '@station/protocol/automation-flow';
import { ownValue } from '@station/protocol/own-value';
import { seenForm } from '@station/protocol/text-fields';
import { deviceOf, sceneOf, type Surroundings, typeOf, typesOfZone, zoneOf } from './automations.ts';
import { numberIn, numberOf } from './options.ts';

/**
 * An automation as a sentence: when any of this, and only if all of that, then one after another, otherwise something else. Every
 * sentence is a flow; a flow is a sentence when its graph is two lines at most, the second for conditions that are not met.
 */
export type Sentence = {
  triggers: readonly TriggerData[];
  conditions: readonly InstantCondition[];
  actions: readonly StepData[];
  otherwise: readonly StepData[];
};

/** A step that waits for a condition. `goesOn`: also when the time is out; else the sentence ends there. */
export type WaitData = Extract<ConditionData, { kind: 'wait_until' }> & { goesOn: boolean };
export type StepData = ActionData | WaitData;
export type NodeData = TriggerData | ConditionData | ActionData;
export type Step = { nodeId: string; data: NodeData | null; kind: string; isNegated: boolean };

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';

/** What a node must at least have to become text. A draft that was made elsewhere may lack anything. */
const asks: Readonly<Record<string, (config: Readonly<Record<string, unknown>>) => boolean>> = {
  'trigger device_event_received': ({ deviceId }) => isText(deviceId),
  'trigger device_state_changed': ({ deviceId, capability }) => isText(deviceId) && isText(capability),
  'trigger device_status_changed': ({ deviceId }) => isText(deviceId),
  'trigger zone_state_changed': ({ zoneId, capability }) => isText(zoneId) && isText(capability),
  'trigger schedule': ({ cron, time, sun }) => [isText(cron), isText(time), isSun(sun)].filter(Boolean).length === 1,
  'condition state_equals': ({ deviceId, capability, value }) =>
    isText(deviceId) && isText(capability) && ['boolean', 'number', 'string'].includes(typeof value),
  'condition numeric_compare': ({ deviceId, capability, operator, value }) =>
    isText(deviceId) && isText(capability) && isText(operator) && isNumber(value),
  'condition time_range': ({ from, to }) => [from, to].every((bound) => isText(bound) || isSun(bound)),
  'condition wait_until': ({ until, seconds }) => isNumber(seconds) && isInstant(until),
  'action device_command': ({ deviceId, action }) => isText(deviceId) && isText(action),
  'action zone_command': ({ zoneId, action }) => isText(zoneId) && isText(action),
  'action scene': ({ sceneId }) => isText(sceneId),
  'action delay': ({ seconds }) => isNumber(seconds),
  'action webhook': ({ url }) => isText(url),
  'action notify': ({ message }) => isText(message),
};

const isSun = (value: unknown): value is SunTime =>
  typeof value === 'object' && value !== null && ['sunrise', 'sunset'].includes((value as SunTime).event);

function isInstant(value: unknown): boolean {
  const { kind, config } = (value ?? {}) as Partial<InstantCondition>;
  return kind !== undefined && config !== undefined && asks[`condition ${kind}`]?.(config) === true;
}

const types = new Map(Object.keys(asks).map((key) => key.split(' ').reverse() as [string, FlowNode['type']]));

/** Each kind belongs to one type of node. */
export const nodeTypeOf = ({ kind }: NodeData): FlowNode['type'] => types.get(kind) ?? 'action';

/** Null for a kind that this page does not know, or that lacks its data. */
function known({ type, data }: FlowNode): NodeData | null {
  return ownValue(asks, `${type} ${data.kind}`)?.(data.config) === true ? (data as unknown as NodeData) : null;
}

/** The sentence that a flow is; null when it has other branches, or a node that this page does not know. */
export function sentenceOf(flow: Flow): Sentence | null {
  const { nodes, edges } = flow;
  if (nodes.some((node) => known(node) === null)) return null;
  const triggers = nodes.filter(({ type }) => type === 'trigger');
  const head = commonHead(triggers.map(({ id }) => targetsOf(flow, id, 'true')));
  if (head === null) return null;
  const conditions: FlowNode[] = [];
  let next = head.id;
  for (let node = at(flow, next); node !== undefined && isInstantNode(node); node = at(flow, next)) {
    if (conditions.includes(node)) return null;
    conditions.push(node);
    const [target, ...more] = targetsOf(flow, node.id, 'true');
    if (more.length > 0) return null;
    next = target;
  }
  const otherwise = commonHead(conditions.map(({ id }) => targetsOf(flow, id, 'false')));
  const doing = stepsFrom(flow, next);
  const instead = stepsFrom(flow, otherwise?.id);
  if (otherwise === null || doing === null || instead === null) return null;
  if (doing.steps.length === 0 && instead.steps.length > 0) return null;
  const line = [...conditions.map(({ id }) => id), ...doing.ids, ...instead.ids];
  if (new Set(line).size !== line.length || triggers.length + line.length !== nodes.length) return null;
  const sentence = {
    triggers: triggers.map((node) => known(node)) as TriggerData[],
    conditions: conditions.map((node) => known(node)) as InstantCondition[],
    actions: doing.steps,
    otherwise: instead.steps,
  };
  return flowOf(sentence).edges.length === edges.length ? sentence : null;
}

const at = ({ nodes }: Flow, id: string | undefined): FlowNode | undefined => nodes.find((node) => node.id === id);
const isInstantNode = ({ type, data }: FlowNode): boolean => type === 'condition' && data.kind !== 'wait_until';
const targetsOf = ({ edges }: Flow, id: string, handle: 'true' | 'false'): string[] =>
  edges
    .filter(({ source, sourceHandle = 'true' }) => source === id && sourceHandle === handle)
    .map(({ target }) => target);

/** The one node that all of them lead to, or none of them; null when they differ. */
function commonHead(targets: readonly (readonly string[])[]): { id: string | undefined } | null {
  const isSame = targets.every((some) => some.length === targets[0]?.length && some[0] === targets[0][0]);
  return isSame && (targets[0]?.length ?? 0) < 2 ? { id: targets[0]?.[0] } : null;
}

/** The steps from a node on, one after another; null when they fork or something else is among them. */
function stepsFrom(flow: Flow, from: string | undefined): { ids: string[]; steps: StepData[] } | null {
  const ids: string[] = [];
  const steps: StepData[] = [];
  for (let id = from; id !== undefined;) {
    const node = at(flow, id);
    const data = node && known(node);
    if (!node || !data || node.type === 'trigger' || isInstantNode(node) || ids.includes(id)) return null;
    const [next, ...more] = targetsOf(flow, id, 'true');
    const [late, ...others] = targetsOf(flow, id, 'false');
    if (more.length + others.length > 0 || (late !== undefined && late !== next)) return null;
    ids.push(id);
    steps.push(data.kind === 'wait_until' ? { ...data, goesOn: late !== undefined } : (data as ActionData));
    id = next;
  }
  return { ids, steps };
}

/** The flow that a sentence is. */
export function flowOf({ triggers, conditions, actions, otherwise }: Sentence): Flow {
  const nodesOf = (name: string, parts: readonly NodeData[]): FlowNode[] =>
    parts.map(({ kind, config }, index) => {
      return { id: `${name}-${index + 1}`, type: nodeTypeOf({ kind } as NodeData), data: { kind, config } };
    });
  const edge = (source: string, target: string): FlowEdge => ({ id: `${source}-${target}`, source, target });
  const orElse = (source: string, target: string): FlowEdge => {
    return { ...edge(source, target), id: `${source}-${target}-else`, sourceHandle: 'false' };
  };
  const starts = nodesOf('trigger', triggers);
  const gates = nodesOf('condition', conditions);
  const doing = nodesOf('action', actions);
  const instead = conditions.length === 0 ? [] : nodesOf('else', otherwise);
  const line = [...gates, ...doing];
  const [head] = line;
  const [other] = instead;
  const edges = [
    ...(head === undefined ? [] : starts.map(({ id }) => edge(id, head.id))),
    ...line.slice(1).map(({ id }, index) => edge(line[index]!.id, id)),
    ...(other === undefined ? [] : gates.map(({ id }) => orElse(id, other.id))),
    ...instead.slice(1).map(({ id }, index) => edge(instead[index]!.id, id)),
    ...[[doing, actions] as const, [instead, otherwise] as const].flatMap(([nodes, parts]) =>
      nodes.slice(1).flatMap(({ id }, index) => {
        const part = parts[index];
        return part?.kind === 'wait_until' && part.goesOn ? [orElse(nodes[index]!.id, id)] : [];
      }),
    ),
  ];
  return { nodes: [...starts, ...line, ...instead], edges };
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

type Part = TriggerData | ConditionData | StepData;
export type PartFault =
  | 'nothing'
  | 'device'
  | 'zone'
  | 'scene'
  | 'place'
  | 'number'
  | 'range'
  | 'text'
  | 'days'
  | 'delay'
  | 'offset'
  | 'address';

/** What must be mended although nobody has touched the part: what it is about is gone. */
export const isGone = (fault: PartFault | null): boolean =>
  fault === 'device' || fault === 'zone' || fault === 'scene' || fault === 'place';

/** As in the protocol, which would bring its schema library along. */
const maxDelaySeconds = 7 * 24 * 3600;
const maxSunOffset = 360;
const timeOfDay = /^([01]\d|2[0-3]):[0-5]\d$/;

/** What keeps a part from being saved; null when it is complete. `null` is a part that nothing was chosen for yet. */
export function partFault(around: Surroundings, part: Part | null): PartFault | null {
  if (part === null) return 'nothing';
  if ('deviceId' in part.config && deviceOf(around, part.config.deviceId) === undefined) return 'device';
  if ('zoneId' in part.config && zoneOf(around, part.config.zoneId) === undefined) return 'zone';
  if (part.kind === 'scene') return sceneOf(around, part.config.sceneId) === undefined ? 'scene' : null;
  const number = numberIn(part);
  if (number !== null && !Number.isFinite(number)) return 'number';
  switch (part.kind) {
    case 'schedule': {
      const { cron, time, sun, days } = part.config;
      if (days?.length === 0) return 'days';
      if (sun !== undefined) return boundFault(around, sun);
      return cron === undefined ? boundFault(around, time ?? '') : textFault(cron);
    }
    case 'time_range':
      if (part.config.days?.length === 0) return 'days';
      return boundFault(around, part.config.from) ?? boundFault(around, part.config.to);
    case 'wait_until':
      return partFault(around, part.config.until) ?? waitFault(part.config.seconds);
    case 'delay':
      return waitFault(part.config.seconds);
    case 'notify':
      return textFault(part.config.message);
    case 'webhook':
      return /^https?:\/\//.test(part.config.url) && URL.canParse(part.config.url) ? null : 'address';
    case 'device_command':
      return numberFault(number, numberOf(typeOf(around, part.config.deviceId), part.config.action));
    case 'zone_command': {
      const { zoneId, action } = part.config;
      const faults = typesOfZone(around, zoneId)
        .filter(({ commands }) => commands.some((one) => one.action === action))
        .map((type) => numberFault(number, numberOf(type, action)));
      // One device that takes the number is enough.
      return faults.includes(null) ? null : (faults[0] ?? null);
    }
    case 'device_event_received':
    case 'device_state_changed':
    case 'device_status_changed':
    case 'zone_state_changed':
    case 'state_equals':
    case 'numeric_compare':
      return null;
  }
}

function numberFault(number: number | null, limits: ReturnType<typeof numberOf>): 'range' | null {
  if (limits === null || number === null) return null;
  const { min, max } = limits;
  return (min !== undefined && number < min) || (max !== undefined && number > max) ? 'range' : null;
}

const waitFault = (seconds: number): 'delay' | null =>
  Number.isInteger(seconds) && seconds >= 1 && seconds <= maxDelaySeconds ? null : 'delay';

function boundFault({ hasPlace }: Surroundings, bound: string | SunTime): PartFault | null {
  if (typeof bound === 'string') return timeOfDay.test(bound) ? null : 'text';
  if (!hasPlace) return 'place';
  const { offsetMinutes = 0 } = bound;
  return Number.isInteger(offsetMinutes) && Math.abs(offsetMinutes) <= maxSunOffset ? null : 'offset';
}

const isSeen = new RegExp(seenForm.pattern, 'u');
const textFault = (text: string): 'text' | null => (isSeen.test(text) ? null : 'text');
