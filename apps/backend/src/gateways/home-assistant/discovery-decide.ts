import { numberFrom } from '@station/kit/json';
import type { NotSupported, Refusal } from '@station/protocol/gateways';
import type {
  Availability,
  Dialect,
  DialectDevice,
  Heard,
  Known,
  Place,
  Presence,
  Property,
  Said,
} from '../dialect.ts';
import { isRecord, valueAt } from '../foreign-values-decide.ts';
import { parsed, readValues } from '../payloads-decide.ts';
import { isWithin } from '../trees-decide.ts';
import { describeDiscovered, isOfUse, refusalOf } from './discovery-device-decide.ts';
import { type Announced, readDiscovery, readDiscoveryTopic } from './discovery-message-decide.ts';
import { wordOf } from './discovery-values-decide.ts';

/**
 * Devices that announce themselves as Home Assistant takes it: ESPHome and many others. Each component comes by itself and says on which topics its
 * values are; those of one device are brought together.
 */

type Memory = {
  /** What was announced, by topic. */
  announced: Map<string, Kept>;
  size: number;
  /** Topics that have components of a device, by its external id. */
  devices: Map<string, Set<string>>;
  /** The last message of topics that no device is known for: an announcement may come later. */
  held: Map<string, string>;
  /** Topics of availability that said offline. */
  offline: Set<string>;
};

const maxDevices = 500;
const maxTopics = 4_096;
/** Announcements of one device that are read. */
const maxParts = 128;
/** Characters of one announcement, and of all. */
const maxAnnouncement = 65_536;
const maxAnnouncements = 4 * 1_024 * 1_024;
const maxHeld = 1_024;
const longestHeld = 512;
const maxOffline = 1_000;

export const homeAssistant: Dialect<Memory> = {
  trees: treesOf,
  isList: () => false,
  isEachForItself: true,
  lastWill: { usual: ['esphome/+/status'], baseTopic: baseTopicOf },
  remember: () => ({ announced: new Map(), size: 0, devices: new Map(), held: new Map(), offline: new Set() }),
  read: (heard, known) => {
    const { base, discovery, topic, text } = heard;
    const prefix = `${discovery ?? base}/`;
    const place = topic.startsWith(prefix) ? readDiscoveryTopic(topic.slice(prefix.length)) : null;
    if (place !== null) return announce(heard, place, known);
    const devices = known.at(topic);
    if (devices.length === 0) hold(known.memory, topic, text);
    return devices.flatMap((device) => [
      ...presenceSaid(known.memory, device, topic, text),
      ...reportSaid(device, topic, text),
    ]);
  },
  write: (_device, payload) =>
    Object.entries(payload).map(([topic, value]) => ({
      topic,
      // Home Assistant tells a lamp that is dimmed or coloured to be on, too.
      payload: isRecord(value) ? JSON.stringify({ state: 'ON', ...value }) : wordOf(value),
    })),
};

/** The prefix of an ESPHome is its name at first. `homeassistant/status` is of Home Assistant itself. */
function baseTopicOf(will: string): string | null {
  const [, above, own = ''] = /^(?:(.+)\/)?([^/]+)\/status$/.exec(will) ?? [];
  if (above !== undefined) return above;
  return own === '' || own === 'homeassistant' ? null : 'esphome';
}

/** None is within the other, so that no message comes twice. */
function treesOf({ base, discovery }: Place): string[] {
  if (discovery === null || isWithin([base], `${discovery}/x`)) return [base];
  return isWithin([discovery], `${base}/x`) ? [discovery] : [base, discovery];
}

function hold({ held }: Memory, topic: string, text: string): void {
  if (text.length > longestHeld) return;
  const [oldest] = held.keys();
  if (!held.delete(topic) && held.size >= maxHeld && oldest !== undefined) held.delete(oldest);
  held.set(topic, text);
}

type DiscoveryPlace = { component: string; id: string };

function announce({ topic, text, ...place }: Heard, about: DiscoveryPlace, known: Known<Memory>): Said[] {
  const { memory } = known;
  const before = memory.announced.get(topic);
  const payload = text.length <= maxAnnouncement ? parsed(text) : null;
  const trees = treesOf(place);
  const found = (isRecord(payload) ? readDiscovery(about, payload) : []).filter(isOfUse);
  const refused = found.flatMap((one) => refusalOf(one, trees) ?? []);
  const components = found.filter((one) => refusalOf(one, trees) === null);
  const affected = new Set([...idsOf(before?.components ?? []), ...idsOf(components)]);
  if (before !== undefined) forget(memory, topic, before);
  const isTaken = hasRoom(memory, components, text.length);
  if (isTaken) remember(memory, topic, { components, size: text.length });
  const whole =
    isTaken || components.length === 0 ? wholeRefusal(topic, text, payload) : refusalOfAll(topic, 'no_room');
  return [
    ...[...affected].flatMap((device) => saidOf(known, { device, base: place.base, isEmpty: text === '' })),
    { kind: 'refused', source: topic, entries: [...whole, ...refused] },
  ];
}

const refusalOfAll = (topic: string, reason: Refusal): NotSupported[] => [{ name: topic, reason, detail: null }];

function wholeRefusal(topic: string, text: string, payload: unknown): NotSupported[] {
  if (text.length > maxAnnouncement) return refusalOfAll(topic, 'too_large');
  return text === '' || isRecord(payload) ? [] : refusalOfAll(topic, 'incomplete');
}

type Kept = { components: readonly Announced[]; size: number };

const idsOf = (components: readonly Announced[]): Set<string> =>
  new Set(components.map(({ about: { externalId } }) => externalId));

function forget(memory: Memory, topic: string, { components, size }: Kept): void {
  memory.announced.delete(topic);
  memory.size -= size;
  for (const id of idsOf(components)) {
    const topics = memory.devices.get(id);
    topics?.delete(topic);
    if (topics?.size === 0) memory.devices.delete(id);
  }
}

function remember(memory: Memory, topic: string, kept: Kept): void {
  memory.announced.set(topic, kept);
  memory.size += kept.size;
  for (const id of idsOf(kept.components)) {
    const topics = memory.devices.get(id) ?? new Set();
    memory.devices.set(id, topics.add(topic));
  }
}

function hasRoom({ announced, size, devices }: Memory, components: readonly Announced[], more: number): boolean {
  const fresh = [...idsOf(components)].filter((id) => !devices.has(id)).length;
  const isInside = size + more <= maxAnnouncements && announced.size < maxTopics && devices.size + fresh <= maxDevices;
  return components.length > 0 && isInside;
}

type Changed = { device: string; base: string; isEmpty: boolean };

function saidOf(known: Known<Memory>, { device, base, isEmpty }: Changed): Said[] {
  const kept = known.find(device);
  // Its last announcement was taken back: it ends. One that cannot be read any more stays as it is.
  if (componentsOf(known.memory, device).length === 0)
    return isEmpty && kept !== undefined ? [{ kind: 'removed', device: kept }] : [];
  return [{ kind: 'part', device, say: () => describedSaid(known.memory, device, base) }];
}

/** In the order of their topics, so that two starts make the same device. */
const componentsOf = ({ announced, devices }: Memory, device: string): Announced[] =>
  [...(devices.get(device) ?? [])]
    .toSorted()
    .slice(0, maxParts)
    .flatMap((topic) => announced.get(topic)?.components ?? [])
    .filter(({ about }) => about.externalId === device);

function describedSaid(memory: Memory, externalId: string, base: string): Said[] {
  const device = describeDiscovered(componentsOf(memory, externalId), base);
  if (device === null) return [];
  const { presence = [] } = device.plan;
  const held = device.topics.heard.flatMap((topic) => {
    const text = memory.held.get(topic);
    memory.held.delete(topic);
    return text === undefined ? [] : [{ topic, text }];
  });
  return [
    { kind: 'device', device },
    // One that names no topic for it is there when it says so.
    ...(presence.length === 0 ? [{ kind: 'available', device, availability: 'online' } as const] : []),
    ...held.flatMap(({ topic, text }) => [
      ...presenceSaid(memory, device, topic, text),
      ...reportSaid(device, topic, text),
    ]),
  ];
}

function presenceSaid({ offline }: Memory, device: DialectDevice, topic: string, text: string): Said[] {
  const { presence = [] } = device.plan;
  const own = presence.find((one) => one.topic === topic);
  const said = own === undefined ? null : availabilityOf(own, text);
  if (said === null) return [];
  if (said === 'online') offline.delete(topic);
  else if (offline.size < maxOffline) offline.add(topic);
  const isOffline = said === 'offline' || presence.some((one) => offline.has(one.topic));
  return [{ kind: 'available', device, availability: isOffline ? 'offline' : 'online' }];
}

function availabilityOf({ path, online, offline }: Presence, text: string): Availability | null {
  const word = path.length === 0 ? text : wordOf(valueAt(parsed(text), path));
  if (word === offline) return 'offline';
  return word === online ? 'online' : null;
}

function reportSaid(device: DialectDevice, topic: string, text: string): Said[] {
  let body: unknown;
  const report = readValues(device.plan, (property) => {
    if (property.path[0] !== topic) return undefined;
    if (property.path.length === 1) return understood(property, text);
    body ??= parsed(text);
    const value = valueAt(body, property.path.slice(1));
    return value === undefined ? undefined : understood(property, value);
  });
  return Object.keys(report.state).length === 0 ? [] : [{ kind: 'report', device, report }];
}

/** What an empty text, `unknown` and `nan` say of a number: nothing. */
function understood({ kind }: Property, value: unknown): unknown {
  if (value === null) return null;
  if (kind === 'number' && typeof value === 'string') return numberFrom(value);
  return (kind === 'boolean' || kind === 'enum') && typeof value !== 'object' ? wordOf(value) : value;
}
