import type { NotSupported } from '@station/protocol/gateways';
import { ownValue } from '@station/protocol/own-value';
import type { Dialect, DialectDevice, Known, Said } from '../dialect.ts';
import { isRecord, textIn, type Values } from '../foreign-values-decide.ts';
import { parsed, readValues } from '../payloads-decide.ts';
import { describeGen1, placesIn, readAt, valuesAt } from './gen1-device-decide.ts';
import { silentEnd } from './gen1-values-decide.ts';

/**
 * Shelly of the first generation: a topic for each value below `shellies/<id>` (shelly-api-docs.shelly.cloud, "Gen1 Device API"). It does not say what
 * it has, so a device has what it was heard to publish.
 */

type Heard = {
  announced: Values | null;
  /** The values that it published. */
  places: Set<string>;
  /** What it published before it was described, by the end of the topic. */
  held: Map<string, string>;
  unknown: Set<string>;
  /** Presses of each input that were counted: it says the last one again with every report. */
  counts: Map<string, number>;
};

/** By the level of the topic that is the device's own. */
type Memory = Map<string, Heard>;

const maxDevices = 500;
const maxPlaces = 128;
const maxUnknown = 16;
/** Characters that are held of a message. Its status has some 2 KiB. */
const longestHeld = 512;
const maxPayload = 16_384;

export const shellyGen1: Dialect<Memory> = {
  trees: ({ base }) => [base],
  isList: () => false,
  isEachForItself: true,
  lastWill: {
    usual: ['shellies/+/online'],
    baseTopic: (topic) => (/^shellies\/[^/]+\/online$/.test(topic) ? 'shellies' : null),
  },
  remember: () => new Map(),
  read: ({ base, topic, text }, known) => {
    const rest = topic.slice(base.length + 1);
    if (rest === 'announce') return announce(known, base, textIn(announcementIn(text), 'id') ?? '', text);
    const [, id = '', end = ''] = /^([^/]{1,64})\/(.{1,64})$/.exec(rest) ?? [];
    if (id === '') return [];
    if (end === 'announce') return announce(known, base, id, text);
    const [device] = known.at(`${base}/${id}`);
    if (end === 'online') return availability(device, `${base}/${id}`, text);
    return silentEnd.test(end) ? [] : published(known, { base, id, end, text }, device);
  },
  write: ({ topics }, payload) =>
    Object.entries(payload).map(([end, value]) => ({
      topic: `${topics.command}/${end}`,
      // A lamp that is dimmed or coloured is told to be on, too.
      payload: isRecord(value) ? JSON.stringify({ turn: 'on', ...value }) : wordOf(value),
    })),
};

const wordOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));

function announcementIn(text: string): Values {
  const payload = text.length <= maxPayload ? parsed(text) : null;
  return isRecord(payload) ? payload : {};
}

/** Null: there is no room. */
function heardOf(memory: Memory, id: string): Heard | null {
  const known = memory.get(id);
  if (known !== undefined) return known;
  if (memory.size >= maxDevices) return null;
  const fresh: Heard = {
    announced: null,
    places: new Set(),
    held: new Map(),
    unknown: new Set(),
    counts: new Map(),
  };
  memory.set(id, fresh);
  return fresh;
}

function announce(known: Known<Memory>, base: string, id: string, text: string): Said[] {
  const payload = announcementIn(text);
  if (!/^[^/+#]{1,64}$/.test(id) || textIn(payload, 'mac') === null) return [];
  const heard = heardOf(known.memory, id);
  if (heard === null)
    return [{ kind: 'refused', source: id, entries: [{ name: id, reason: 'no_room', detail: null }] }];
  heard.announced = payload;
  return partOf(known, base, id);
}

/** What it is called by, and what it has: it says both when it is asked. */
const questionsTo = (device: DialectDevice | undefined, topic: string): Said[] =>
  ['announce', 'update'].map((payload) => ({
    kind: 'question',
    device: device?.externalId ?? topic,
    reason: payload,
    publish: { topic: `${topic}/command`, payload },
  }));

function availability(device: DialectDevice | undefined, topic: string, text: string): Said[] {
  if (text === 'true') {
    const asked = questionsTo(device, topic);
    return device === undefined ? asked : [{ kind: 'available', device, availability: 'online' }, ...asked];
  }
  if (device === undefined || text !== (device.plan.availability?.offline ?? 'false')) return [];
  return [{ kind: 'available', device, availability: 'offline' }];
}

type Message = { base: string; id: string; end: string; text: string };

function published(known: Known<Memory>, message: Message, device: DialectDevice | undefined): Said[] {
  const { base, id, end, text } = message;
  const heard = text.length <= maxPayload ? heardOf(known.memory, id) : null;
  if (heard === null) return [];
  const said = noted(heard, end, text, device) ? partOf(known, base, id) : [];
  if (device !== undefined) return [...reportOf(heard, device, end, text), ...said];
  if (text.length <= longestHeld && heard.held.size < maxPlaces) heard.held.set(end, text);
  return heard.announced === null ? questionsTo(undefined, `${base}/${id}`) : said;
}

/** Whether it is something that was not known of the device. */
function noted(heard: Heard, end: string, text: string, device: DialectDevice | undefined): boolean {
  if (valuesAt(end) === undefined) {
    if (heard.unknown.has(end) || heard.unknown.size >= maxUnknown) return false;
    heard.unknown.add(end);
    return true;
  }
  const fresh = placesIn(end, parsed(text), text).filter((place) => !heard.places.has(place));
  for (const place of fresh) if (heard.places.size < maxPlaces) heard.places.add(place);
  const kept = new Set(device === undefined ? [] : placesOf(device));
  return fresh.some((place) => !kept.has(place));
}

/** Those that it had before the station started. */
const placesOf = ({ plan }: DialectDevice): string[] =>
  plan.properties
    .filter(({ isReadable }) => isReadable)
    .map(({ path, key }) => (key === 'action' ? (path[0] ?? '') : path.join('\n')));

const partOf = (known: Known<Memory>, base: string, id: string): Said[] => [
  { kind: 'part', device: `${base}/${id}`, say: () => described(known, base, id) },
];

function described(known: Known<Memory>, base: string, id: string): Said[] {
  const topic = `${base}/${id}`;
  const heard = known.memory.get(id);
  const [before] = known.at(topic);
  if (heard === undefined || heard.announced === null) return heard === undefined ? [] : questionsTo(before, topic);
  const kept = before === undefined ? [] : placesOf(before);
  const device = describeGen1(topic, heard.announced, new Set([...kept, ...heard.places]));
  const entries = refusalsOf(id, heard, device === null);
  if (device === null) return [{ kind: 'refused', source: id, entries }];
  const held = [...heard.held];
  heard.held.clear();
  return [
    { kind: 'device', device },
    { kind: 'refused', source: id, entries },
    ...(before === undefined ? questionsTo(device, topic) : []),
    ...held.flatMap(([end, text]) => reportOf(heard, device, end, text)),
  ];
}

function refusalsOf(id: string, { unknown }: Heard, isOdd: boolean): NotSupported[] {
  if (isOdd) return [{ name: id, reason: 'incomplete', detail: 'mac' }];
  return [...unknown].map((end) => ({ name: `${id}: ${end}`, reason: 'kind', detail: null }));
}

function reportOf(heard: Heard, device: DialectDevice, end: string, text: string): Said[] {
  const payload = parsed(text);
  const report = readValues(device.plan, (property) => readAt(property, end, payload, text));
  if (Object.keys(report.state).length === 0) return [];
  if (!end.startsWith('input_event/')) return [{ kind: 'report', device, report }];
  return isNewPress(heard, end, payload) && report.event !== null ? [{ kind: 'report', device, report }] : [];
}

/** The first one after a start says only how many there were. */
function isNewPress({ counts }: Heard, end: string, payload: unknown): boolean {
  const count = isRecord(payload) ? ownValue(payload, 'event_cnt') : undefined;
  if (typeof count !== 'number') return false;
  const before = counts.get(end);
  if (before !== undefined || counts.size < maxPlaces) counts.set(end, count);
  return before !== undefined && before !== count;
}
