import { ownValue } from '@station/protocol/own-value';
import { type Feature, featureOf, maxValues } from '../features-decide.ts';
import { isRecord, plainText, textIn, type Values } from '../foreign-values-decide.ts';

/** Scenes that are stored in the devices (zigbee2mqtt.io, "Scenes"): a choice of one, which `scene_recall` recalls by its number. */

const largestScene = 255;
/** Of a name, so that its number has room behind it. */
const longestName = 56;

/** @param list of an endpoint or a group: `[{ "id": 1, "name": "Evening" }]`. Null: there is none. */
function sceneFeature(list: unknown, end: string): Feature | null {
  const scenes = new Map<string, number>();
  for (const scene of Array.isArray(list) ? (list.slice(0, maxValues) as readonly unknown[]) : []) {
    const id = isRecord(scene) ? ownValue(scene, 'id') : undefined;
    if (!isRecord(scene) || typeof id !== 'number' || !Number.isInteger(id) || id < 0 || id > largestScene) continue;
    const name = plainText(textIn(scene, 'name') ?? '', longestName) ?? String(id);
    scenes.set(scenes.has(name) ? `${name} (${id})` : name, id);
  }
  if (scenes.size === 0) return null;
  const key = `scene_recall${end}`;
  const choice = { isReadable: false, isSettable: true, kind: 'enum' } as const;
  return featureOf(
    { path: [key], key, ...choice, values: [...scenes.keys()], writes: [...scenes.values()] },
    { name: 'scene_recall', end, isChoice: true },
  );
}

/** Of a group. */
export function groupScenes(group: Values): Feature[] {
  const feature = sceneFeature(ownValue(group, 'scenes'), '');
  return feature === null ? [] : [feature];
}

/** Of the endpoints of a device. One without a name is the device itself, and there is one such. */
export function deviceScenes(entry: Values): Feature[] {
  const endpoints = ownValue(entry, 'endpoints');
  const found = new Map<string, Feature>();
  for (const endpoint of isRecord(endpoints) ? Object.values(endpoints) : []) {
    if (!isRecord(endpoint)) continue;
    const name = textIn(endpoint, 'name');
    if (name !== null && !/^[a-z0-9_]{1,24}$/i.test(name)) continue;
    const end = name === null ? '' : `_${name}`;
    const feature = found.has(end) ? null : sceneFeature(ownValue(endpoint, 'scenes'), end);
    if (feature !== null) found.set(end, feature);
  }
  return [...found.values()];
}
