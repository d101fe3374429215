import type { NotSupported, Refusal } from '@station/protocol/gateways';
import type { AnnouncedDevice, Presence, Property } from '../dialect.ts';
import { actionFeature, type Feature, isKey } from '../features-decide.ts';
import { textIn, type Values } from '../foreign-values-decide.ts';
import { isKnownHere } from '../payloads-decide.ts';
import { isWithin } from '../trees-decide.ts';
import { slugOf, wordsOf } from '../words-decide.ts';
import { drawComponent, familyOf } from './discovery-components-decide.ts';
import { type Announced, presencesOf, templatePath } from './discovery-message-decide.ts';
import { type Drawn, type Trigger, waitIn } from './discovery-values-decide.ts';

/** Null: it is taken. @param trees those that the station may read and publish in. */
export function refusalOf(announced: Announced, trees: readonly string[]): NotSupported | null {
  const { component, config, about, label, id } = announced;
  const named = label ?? id;
  const name = named === about.name ? named : `${about.name}: ${named}`;
  const because = (reason: Refusal, detail: string | null): NotSupported => ({ name, reason, detail });
  const presences = presencesOf(config);
  if (presences === null) return because('template', 'availability_template');
  const template = templateOf(config);
  if (template !== null) return because('template', template);
  const drawn = drawComponent(announced);
  if (drawn === null) return because('kind', component);
  if (component === 'light' && textIn(config, 'schema') === 'template') return because('template', 'schema');
  if (drawn.features.length === 0 && drawn.triggers.length === 0) return because('incomplete', component);
  const topics = [...topicsOf(drawn), ...presences.map(({ topic }) => topic)];
  const outside = topics.find((topic) => !isWithin(trees, topic));
  return outside === undefined ? null : because('outside', outside);
}

/** Whether it says what the station does not know without it. */
export const isOfUse = ({ config }: Announced): boolean =>
  !isKnownHere(templatePath(textIn(config, 'value_template') ?? '')?.at(-1) ?? '');

/** Says nothing of a value. */
const without: readonly string[] = ['json_attributes_template', 'json_attr_tpl', 'entity_picture_template'];

/** The key of one that computes. A template that names a value is a path; one of a command computes what is written. */
function templateOf(config: Values): string | null {
  const found = Object.entries(config).find(([key, value]) => {
    if (!/_(?:template|tpl)$/.test(key) || without.includes(key) || value === null) return false;
    const isWritten = /command|cmd|^set_/.test(key);
    return isWritten || typeof value !== 'string' || templatePath(value) === null;
  });
  return found?.[0] ?? null;
}

function topicsOf({ features, triggers }: Drawn): string[] {
  const ofProperty = ({ path, set }: Property): string[] => [...path.slice(0, 1), ...(set?.slice(0, 1) ?? [])];
  return [...features.flatMap(({ property }) => ofProperty(property)), ...triggers.map(({ topic }) => topic)];
}

/** Components that a device has, the others are left out. */
const maxComponents = 128;

/** Null: nothing is announced. @param components of one device, in an order that does not depend on when they came. */
export function describeDiscovered(components: readonly Announced[], base: string): AnnouncedDevice | null {
  const about = components.at(-1)?.about;
  if (about === undefined) return null;
  const taken = components.slice(0, maxComponents);
  const { features, triggers } = drawAll(taken);
  const actions = [...new Set(triggers.flatMap(({ values }) => values))];
  const all = actions.length === 0 ? features : [...features, actionFeature(actions)];
  const { words, plan } = wordsOf(all);
  const properties = [...plan.properties.filter(({ key }) => key !== 'action'), ...triggers.map(propertyOf)];
  const presence = presenceOf(taken);
  const silentAfterMs = silenceOf(taken);
  const read = properties.filter(({ isReadable }) => isReadable).map(({ path }) => path[0] ?? '');
  return {
    externalId: about.externalId,
    name: about.name,
    topics: { heard: [...new Set([...read, ...presence.map(({ topic }) => topic)])], command: base },
    words: {
      type: `home_assistant.${slugOf(about.model ?? about.name)}`.slice(0, 64),
      firmwareVersion: about.firmwareVersion ?? 'unknown',
      chip: 'mqtt',
      names: { en: about.model ?? about.name },
      ...words,
    },
    plan: { ...plan, properties, presence, ...(silentAfterMs !== null && { silentAfterMs }) },
  };
}

/** Milliseconds after which the last one of them is no longer believed. Null: one of them is believed for ever. */
function silenceOf(components: readonly Announced[]): number | null {
  const waits = components.map(({ config }) => waitIn(config, 'expire_after'));
  return waits.includes(null) ? null : Math.max(...waits.map(Number));
}

/** One that is alone in such a family has the usual words. */
const aloneFamilies: readonly string[] = ['main', 'lock', 'cover', 'climate'];

function drawAll(components: readonly Announced[]): { features: Feature[]; triggers: Trigger[] } {
  const families = components.map(familyOf);
  const found = new Map<string, Feature>();
  const triggers: Trigger[] = [];
  for (const [at, component] of components.entries()) {
    const family = families[at] ?? null;
    const mayBeAlone = family !== null && aloneFamilies.includes(family);
    const end = mayBeAlone && families.filter((one) => one === family).length === 1 ? '' : `_${component.id}`;
    const drawn = drawComponent(component, family === null ? '' : end);
    for (const feature of drawn?.features ?? []) add(found, feature, component.component);
    triggers.push(...(drawn?.triggers ?? []));
  }
  return { features: [...found.values()], triggers: together(triggers) };
}

/** Of two with one key, the second has its component behind it. */
function add(found: Map<string, Feature>, feature: Feature, component: string): void {
  const { key } = feature.property;
  const own = found.has(key) || key === 'action' ? `${key}_${component}` : key;
  if (!isKey(own) || found.has(own)) return;
  const name = feature.name === key ? own : feature.name;
  found.set(own, { ...feature, name, property: { ...feature.property, key: own } });
}

/** Those at one place are one value, with the words of all. */
function together(triggers: readonly Trigger[]): Trigger[] {
  const places = new Map<string, Trigger>();
  for (const trigger of triggers) {
    const place = [trigger.topic, ...trigger.path].join('\n');
    const before = places.get(place);
    const reads = [...(before?.reads ?? []), ...trigger.reads];
    const values = [...(before?.values ?? []), ...trigger.values];
    places.set(place, { topic: trigger.topic, path: trigger.path, reads, values });
  }
  return [...places.values()];
}

const propertyOf = ({ topic, path, reads, values }: Trigger): Property => ({
  path: [topic, ...path],
  key: 'action',
  isReadable: true,
  isSettable: false,
  kind: 'enum',
  values,
  reads,
});

const maxPresences = 4;

function presenceOf(components: readonly Announced[]): Presence[] {
  const found = new Map<string, Presence>();
  for (const { config } of components)
    for (const presence of presencesOf(config) ?? [])
      if (found.size < maxPresences) found.set(presence.topic, presence);
  return [...found.values()];
}
