import type { NotSupported } from '@station/protocol/gateways';
import type { AnnouncedDevice, Dialect, DialectDevice, Heard, Known, Said } from '../dialect.ts';
import { isRecord, textIn, type Values } from '../foreign-values-decide.ts';
import { parsed, readState } from '../payloads-decide.ts';
import { isWithin } from '../trees-decide.ts';
import { describeTasmota } from './tasmota-device-decide.ts';
import { normalised } from './tasmota-payloads-decide.ts';

/**
 * Tasmota announces itself, retained, on `tasmota/discovery/<MAC>/config` and `/sensors`; its topics are made of its FullTopic
 * (tasmota.github.io, "MQTT", and xdrv_12_discovery.ino).
 */

/** Its announcement comes in two messages. By MAC. */
type Parts = Map<string, { config: Values | null; sensors: Values | null }>;

const usualBase = 'tasmota';
const maxDevices = 500;
/** A device sends 4 KiB at most. */
const maxAnnouncement = 16_384;

export const tasmota: Dialect<Parts> = {
  trees: ({ base }) => treesOf(base),
  isList: () => false,
  isEachForItself: true,
  lastWill: {
    usual: ['tele/+/LWT'],
    // Wherever its FullTopic puts its topics, it announces itself below the base topic.
    baseTopic: (topic) => (/(^|\/)tele\/(.+\/)?LWT$/.test(topic) ? usualBase : null),
  },
  remember: () => new Map(),
  read: (heard, known) => {
    const announced = /^\/discovery\/([0-9A-F]{12})\/(config|sensors)$/.exec(heard.topic.slice(heard.base.length));
    if (announced === null) return report(heard, known);
    const [, mac = '', part] = announced;
    return announce(known, { mac, part: part === 'config' ? 'config' : 'sensors', text: heard.text, base: heard.base });
  },
  write: ({ topics }, payload) =>
    Object.entries(payload).map(([name, value]) => commandOf(topics.command, name, value)),
};

/** `ShutterMove1` is ours: the three directions of a shutter are commands of their own. */
function commandOf(folder: string, name: string, value: unknown): { topic: string; payload: string } {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
  const [, shutter] = /^ShutterMove(\d)$/.exec(name) ?? [];
  if (shutter === undefined) return { topic: `${folder}/${name}`, payload: text };
  return { topic: `${folder}/Shutter${text.slice(0, 1)}${text.slice(1).toLowerCase()}${shutter}`, payload: '' };
}

type Announcement = { base: string; mac: string; part: 'config' | 'sensors'; text: string };

function announce(known: Known<Parts>, { base, mac, part, text }: Announcement): Said[] {
  const { memory } = known;
  const externalId = `tasmota:${mac.toLowerCase()}`;
  const kept = known.find(externalId);
  if (text === '') {
    if (part === 'sensors') return [];
    memory.delete(mac);
    const refused: Said = { kind: 'refused', source: mac, entries: [] };
    return kept === undefined ? [refused] : [{ kind: 'removed', device: kept }, refused];
  }
  const payload = text.length <= maxAnnouncement ? parsed(text) : null;
  if (!isRecord(payload)) return [];
  if (!memory.has(mac) && memory.size >= maxDevices)
    return [{ kind: 'refused', source: mac, entries: [{ name: mac, reason: 'no_room', detail: null }] }];
  const parts = { ...(memory.get(mac) ?? { config: null, sensors: null }), [part]: payload };
  memory.set(mac, parts);
  if (parts.config === null || parts.sensors === null) return [];
  const device = describeTasmota(mac, parts.config, parts.sensors, base);
  const name = device?.name ?? textIn(parts.config, 'dn') ?? mac;
  const refused: Said = { kind: 'refused', source: mac, entries: refusalsOf(device, name, base) };
  return device === null ? [refused] : [{ kind: 'device', device }, refused, ...questionsTo(device)];
}

/** A device whose topics are elsewhere is shown, and cannot be reached. */
function refusalsOf(device: AnnouncedDevice | null, name: string, base: string): NotSupported[] {
  if (device === null) return [{ name, reason: 'incomplete', detail: null }];
  const { heard, command } = device.topics;
  const trees = treesOf(base);
  const outside = [...heard, command].find((topic) => !isWithin(trees, `${topic}/x`));
  return outside === undefined ? [] : [{ name, reason: 'outside', detail: outside }];
}

// `%prefix%/%topic%/` is its FullTopic unless a person changes it.
const treesOf = (base: string): string[] => [...new Set([base, 'tele', 'stat', 'cmnd'])];

/** It would say them by itself within five minutes. */
const questionsTo = ({ externalId, topics: { command } }: Pick<DialectDevice, 'externalId' | 'topics'>): Said[] => [
  { kind: 'question', device: externalId, reason: 'state', publish: { topic: `${command}/STATE`, payload: '' } },
  { kind: 'question', device: externalId, reason: 'sensors', publish: { topic: `${command}/STATUS`, payload: '10' } },
];

function report({ topic, text }: Pick<Heard, 'topic' | 'text'>, known: Known<Parts>): Said[] {
  const end = topic.lastIndexOf('/');
  const devices = known.at(topic.slice(0, end));
  const name = topic.slice(end + 1);
  return devices.flatMap((device) => (name === 'LWT' ? availabilityOf(device, text) : valuesOf(device, name, text)));
}

function availabilityOf(device: DialectDevice, text: string): Said[] {
  const { online = 'Online', offline = 'Offline' } = device.plan.availability ?? {};
  if (text === offline) return [{ kind: 'available', device, availability: 'offline' }];
  return text === online ? [{ kind: 'available', device, availability: 'online' }, ...questionsTo(device)] : [];
}

function valuesOf(device: DialectDevice, name: string, text: string): Said[] {
  // `stat/…/POWER1` has the word alone.
  const payload = /^POWER\d*$/.test(name) ? { [name]: text } : parsed(text);
  if (!isRecord(payload)) return [];
  const { StatusSNS: sensors, StatusSTS: state } = payload;
  const isSensors = name === 'SENSOR' || isRecord(sensors);
  const values = isRecord(sensors) ? sensors : isRecord(state) ? state : payload;
  // A result says a lot that is no value of the device.
  const read = readState(device.plan, normalised(values, device.plan), isSensors ? undefined : 'announced');
  const isEmpty = read === null || Object.keys(read.state).length === 0;
  return isEmpty ? [] : [{ kind: 'report', device, report: read }];
}
