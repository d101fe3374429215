import type { NotSupported } from '@station/protocol/gateways';
import { isForeignName } from '@station/protocol/gateways';
import { ownValue } from '@station/protocol/own-value';
import type { AnnouncedDevice, AnnouncedList } from '../dialect.ts';
import { type Feature, featureOf } from '../features-decide.ts';
import { isRecord, textIn } from '../foreign-values-decide.ts';
import { wordsOf } from '../words-decide.ts';
import { groupScenes } from './scenes-decide.ts';

/** Groups of the retained `<base>/bridge/groups` (zigbee2mqtt.io, "Groups"): each is switched as one, and shown as one device. */

/** What a device has that a group of such devices can be told, by its address. */
export type Members = Map<string, readonly Feature[]>;

const maxGroups = 200;
const maxMembers = 128;

/** Values that Zigbee2MQTT takes for a group, by their names. */
const ofGroups: readonly string[] = ['state', 'brightness', 'color_temp', 'position', 'tilt'];

/** Each once: a group has no endpoints. */
export function groupFeatures(features: readonly Feature[]): Feature[] {
  const found = new Map<string, Feature>();
  for (const feature of features) {
    const { group, name, part, property } = feature;
    const isColour = group === 'light' && part === 'color';
    const isSwitched = group === 'light' || group === 'switch' || group === 'cover';
    const key = isColour ? property.path.join('.') : name;
    if (!isColour && (!isSwitched || !ofGroups.includes(name) || part !== null)) continue;
    if (property.isSettable && !found.has(key)) found.set(key, isColour ? feature : withoutEnd(feature));
  }
  return [...found.values()];
}

function withoutEnd(feature: Feature): Feature {
  const { property, name, end } = feature;
  if (end === '') return feature;
  const key = property.key.endsWith(end) ? property.key.slice(0, -end.length) : name;
  return featureOf({ ...property, path: [name], key }, { ...feature, end: '' });
}

const idOf = (number: number): string => `zigbee2mqtt:group-${number}`;
const prefix = idOf(0).slice(0, -1);
export const isGroup = (externalId: string): boolean => externalId.startsWith(prefix);

/** The external id of a group that a person removed there, by its number; null: it is no number. */
export const groupOf = (id: unknown): string | null =>
  typeof id === 'number' || (typeof id === 'string' && /^\d{1,5}$/.test(id)) ? idOf(Number(id)) : null;

/** Null: it is no list. */
export function listGroups(payload: unknown, members: Members, base: string): AnnouncedList | null {
  if (!Array.isArray(payload)) return null;
  const devices: AnnouncedDevice[] = [];
  const refused: NotSupported[] = [];
  for (const entry of payload.slice(0, maxGroups) as readonly unknown[]) {
    const group = isRecord(entry) ? entry : {};
    const name = textIn(group, 'friendly_name') ?? '';
    const number = ownValue(group, 'id');
    if (typeof number !== 'number' || !Number.isInteger(number) || number < 0 || number > 65_535) continue;
    const features = isForeignName(name)
      ? [...sharedOf(ownValue(group, 'members'), members), ...groupScenes(group)]
      : [];
    if (features.length === 0)
      refused.push({ name: name === '' ? String(number) : name, reason: 'group', detail: null });
    else devices.push(describeGroup(number, name, features, base));
  }
  return { devices, refused, isOf: isGroup };
}

/** What all of its members have. */
function sharedOf(list: unknown, members: Members): Feature[] {
  if (!Array.isArray(list)) return [];
  const all = list.slice(0, maxMembers).map((member: unknown) => {
    const address = isRecord(member) ? (textIn(member, 'ieee_address')?.toLowerCase() ?? '') : '';
    return members.get(address) ?? [];
  });
  const [first = [], ...others] = new Set(all);
  const placeOf = ({ property: { path, kind } }: Feature): string => [kind, ...path].join('.');
  const places = others.map((other) => new Set(other.map(placeOf)));
  return first.filter((feature) => places.every((own) => own.has(placeOf(feature))));
}

function describeGroup(number: number, name: string, features: readonly Feature[], base: string): AnnouncedDevice {
  const { words, plan } = wordsOf(features);
  const names = [...new Set(features.map((feature) => feature.part ?? feature.name))];
  return {
    externalId: idOf(number),
    name,
    topics: { heard: [`${base}/${name}`], command: `${base}/${name}/set` },
    words: {
      // Two groups that have the same are of one type.
      type: `zigbee2mqtt.group-${names.toSorted().join('-')}`.slice(0, 64).replace(/[^a-z0-9._-]/g, '-'),
      firmwareVersion: 'unknown',
      chip: 'zigbee',
      names: { en: 'Zigbee group', de: 'Zigbee-Gruppe', pl: 'Grupa Zigbee', uk: 'Група Zigbee' },
      ...words,
    },
    plan,
  };
}
