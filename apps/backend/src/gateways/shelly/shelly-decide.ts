import type { NotSupported } from '@station/protocol/gateways';
import { ownValue } from '@station/protocol/own-value';
import type { Dialect, DialectDevice, Known, Publish, Said } from '../dialect.ts';
import { isRecord, type Values } from '../foreign-values-decide.ts';
import { parsed, readState } from '../payloads-decide.ts';
import { actionOf, describeShelly, unknownComponents } from './shelly-device-decide.ts';

/**
 * Shelly Gen2 and later: JSON-RPC over MQTT below the prefix that a person gives to each device (shelly-api-docs.shelly.cloud, "MQTT" and "RPC
 * Protocol"). A device says what it is only when it is asked.
 */

type Answered = { info: Values | null; config: Values | null; status: Values | null };
/** Answers of a device that is not described yet. By its prefix. */
type Answers = Map<string, Answered>;

/** The number of a question is that of its answer. */
const questions = [
  { id: 1, method: 'Shelly.GetDeviceInfo', part: 'info' },
  { id: 2, method: 'Shelly.GetConfig', part: 'config' },
  { id: 3, method: 'Shelly.GetStatus', part: 'status' },
] as const;
const commandId = 10;
const maxUndescribed = 64;
/** A device with many components answers with some 20 KiB. */
const maxAnswer = 65_536;

export const shelly: Dialect<Answers> = {
  trees: ({ base }) => [base],
  isList: () => false,
  isEachForItself: true,
  lastWill: { usual: ['+/online', 'shelly/+/online'], baseTopic: baseTopicOf },
  remember: () => new Map(),
  read: ({ base, topic, text }, known) => {
    const place = /^(.+)\/(online|events\/rpc|station\/rpc|status\/([^/]+))$/.exec(topic);
    const [, prefix = '', end = '', component] = place ?? [];
    if (!prefix.startsWith(`${base}/`)) return [];
    const [device] = known.at(prefix);
    if (end === 'online') return availabilityOf(device, prefix, text);
    const payload = text.length <= maxAnswer ? parsed(text) : null;
    if (!isRecord(payload)) return [];
    if (end === 'station/rpc') return answered(known, prefix, payload);
    if (component !== undefined) return valuesOf(device, { [component]: payload });
    return notified(device, prefix, payload);
  },
  write: ({ topics }, payload) =>
    Object.entries(payload).flatMap(([component, methods]) =>
      isRecord(methods)
        ? Object.entries(methods).map(([method, params]) => commandOf(topics.command, component, method, params))
        : [],
    ),
};

/** Its prefix is its id at first, such as `shellyplus1pm-a8032abe54dc`; that of a gateway's device has one level more than the base topic. */
function baseTopicOf(will: string): string | null {
  const [, above, own = ''] = /^(?:(.+)\/)?([^/]+)\/online$/.exec(will) ?? [];
  if (above === undefined) return own.startsWith('shelly') ? 'shelly' : null;
  return above === 'shellies' ? null : above;
}

/** The answer comes on `<src>/rpc`. */
const callOf = (prefix: string, call: object): Publish => ({
  topic: `${prefix}/rpc`,
  payload: JSON.stringify({ src: `${prefix}/station`, ...call }),
});

/** `Cover.Move` is ours: the three directions are methods of their own. So is turning over. */
function commandOf(prefix: string, component: string, method: string, params: unknown): Publish {
  const id = Number(component.split(':')[1] ?? 0);
  const values = isRecord(params) ? params : {};
  const [type = ''] = method.split('.');
  const only = (name: string): Publish => callOf(prefix, { id: commandId, method: `${type}.${name}`, params: { id } });
  const to = ownValue(values, 'to');
  if (method === 'Cover.Move' && typeof to === 'string') return only(`${to.slice(0, 1)}${to.slice(1).toLowerCase()}`);
  if (ownValue(values, 'on') === 'toggle') return only('Toggle');
  return callOf(prefix, { id: commandId, method, params: { id, ...values } });
}

const questionsTo = (device: DialectDevice | undefined, prefix: string): Said[] =>
  questions.map(({ id, method }) => ({
    kind: 'question',
    device: device?.externalId ?? prefix,
    reason: method,
    publish: callOf(prefix, { id, method }),
  }));

function availabilityOf(device: DialectDevice | undefined, prefix: string, text: string): Said[] {
  if (text === 'true') {
    const asked = questionsTo(device, prefix);
    return device === undefined ? asked : [{ kind: 'available', device, availability: 'online' }, ...asked];
  }
  if (device === undefined || text !== (device.plan.availability?.offline ?? 'false')) return [];
  return [{ kind: 'available', device, availability: 'offline' }];
}

function answered({ memory, at }: Known<Answers>, prefix: string, frame: Values): Said[] {
  const question = questions.find(({ id }) => id === ownValue(frame, 'id'));
  const result = ownValue(frame, 'result');
  if (question === undefined || !isRecord(result)) return [];
  // The oldest one has not answered all for the longest.
  const [oldest] = memory.keys();
  if (!memory.has(prefix) && memory.size >= maxUndescribed && oldest !== undefined) memory.delete(oldest);
  const parts: Answered = {
    ...(memory.get(prefix) ?? { info: null, config: null, status: null }),
    [question.part]: result,
  };
  const { info, config, status } = parts;
  memory.set(prefix, parts);
  if (info === null || config === null || status === null) {
    // Also before the others are there: it is the state of a device that is known.
    return question.part === 'status' ? valuesOf(at(prefix).at(0), result) : [];
  }
  memory.delete(prefix);
  const device = describeShelly(prefix, { info, config, status });
  const name = device?.name ?? prefix;
  const refused: Said = { kind: 'refused', source: prefix, entries: refusalsOf(device === null, name, status) };
  return device === null ? [refused] : [{ kind: 'device', device }, refused, ...valuesOf(device, status)];
}

function refusalsOf(isOdd: boolean, name: string, status: Values): NotSupported[] {
  if (isOdd) return [{ name, reason: 'incomplete', detail: 'id' }];
  return unknownComponents(status).map((component) => ({
    name: `${name}: ${component}`,
    reason: 'kind',
    detail: component.split(':', 1)[0] ?? null,
  }));
}

function notified(device: DialectDevice | undefined, prefix: string, frame: Values): Said[] {
  const params = ownValue(frame, 'params');
  const method = ownValue(frame, 'method');
  if (!isRecord(params)) return [];
  if (device === undefined) return questionsTo(undefined, prefix);
  if (method === 'NotifyStatus' || method === 'NotifyFullStatus') return valuesOf(device, params);
  const events = ownValue(params, 'events');
  if (method !== 'NotifyEvent' || !Array.isArray(events)) return [];
  return events.slice(0, maxEvents).flatMap((event) => (isRecord(event) ? eventOf(device, prefix, event) : []));
}

const maxEvents = 16;

function eventOf(device: DialectDevice, prefix: string, event: Values): Said[] {
  // A person changed its settings, perhaps its name.
  if (ownValue(event, 'event') === 'config_changed') return questionsTo(device, prefix);
  const action = actionOf(event);
  return action === null ? [] : valuesOf(device, { action });
}

function valuesOf(device: DialectDevice | undefined, payload: Values): Said[] {
  const report = device === undefined ? null : readState(device.plan, payload, 'announced');
  if (device === undefined || report === null || Object.keys(report.state).length === 0) return [];
  return [{ kind: 'report', device, report }];
}
