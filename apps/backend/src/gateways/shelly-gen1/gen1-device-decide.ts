import { numberFrom } from '@station/kit/json';
import { ownValue } from '@station/protocol/own-value';
import type { AnnouncedDevice, Property } from '../dialect.ts';
import { actionFeature, type Feature, featureOf, isKey } from '../features-decide.ts';
import { plainText, textIn, valueAt, type Values } from '../foreign-values-decide.ts';
import { slugOf, wordsOf } from '../words-decide.ts';
import { type Gen1Value, gen1Values, presses } from './gen1-values-decide.ts';

/** A value that a device was heard to publish. */
type Found = { end: string; number: string; value: Gen1Value };

const numbered = (end: string): { form: string; number: string } => {
  const number = /\/(\d{1,2})(?:\/|$)/.exec(end)?.[1] ?? '';
  return { form: number === '' ? end : end.replace(`/${number}`, '/#'), number };
};

const isPress = /^input_event\/(\d{1,2})$/;

/** Undefined: nothing that a device says ends so. */
export const valuesAt = (end: string): readonly Gen1Value[] | undefined =>
  isPress.test(end) ? [] : ownValue(gen1Values, numbered(end).form);

const pathOf = (end: string, { at = [] }: Gen1Value): string[] => [end, ...at];

/** Names of the values that a payload has. @param text as it was published. */
export function placesIn(end: string, payload: unknown, text: string): string[] {
  if (isPress.test(end)) return [end];
  return (valuesAt(end) ?? []).flatMap((value) => {
    const path = pathOf(end, value);
    if (value.at !== undefined) return valueAt(payload, value.at) === undefined ? [] : [path.join('\n')];
    // A blind that was not calibrated has no position.
    return value.word === 'position' && !(Number(text) >= 0) ? [] : [path.join('\n')];
  });
}

/**
 * Null: its announcement says too little.
 * @param announced JSON of its announcement.
 * @param places the values that it was heard to publish: end of a topic, and names in the payload, in lines.
 */
export function describeGen1(topic: string, announced: Values, places: Iterable<string>): AnnouncedDevice | null {
  const id = topic.slice(topic.lastIndexOf('/') + 1);
  const mac = textIn(announced, 'mac') ?? '';
  if (!/^[0-9A-Fa-f]{12}$/.test(mac)) return null;
  const known = new Set(places);
  const { words, plan } = wordsOf(featuresOf(known));
  const properties = [...plan.properties.filter(({ key }) => key !== 'action'), ...pressesOf(known)];
  const model = plainText(textIn(announced, 'model') ?? '', 48) ?? 'Shelly';
  const isSleeping = known.has('sensor/battery');
  return {
    externalId: `shelly_gen1:${mac.toLowerCase()}`,
    name: plainText(id) ?? mac,
    topics: { heard: [topic], command: topic },
    words: {
      type: `shelly_gen1.${slugOf(model)}`,
      firmwareVersion: plainText(textIn(announced, 'fw_ver') ?? '', 128) ?? 'unknown',
      chip: 'gen1',
      names: { en: `Shelly ${model}` },
      ...words,
    },
    // One that sleeps leaves the broker each time, and is no less there.
    plan: { ...plan, properties, availability: { online: 'true', offline: isSleeping ? 'sleeping' : 'false' } },
  };
}

function foundIn(places: ReadonlySet<string>): Found[] {
  return [...places].toSorted().flatMap((place) => {
    const end = place.split('\n', 1)[0] ?? '';
    const { number } = numbered(end);
    const values = (valuesAt(end) ?? []).filter(
      (value) => pathOf(end, value).join('\n') === place || value.isUnreported,
    );
    return values.map((value) => ({ end, number, value }));
  });
}

function featuresOf(places: ReadonlySet<string>): Feature[] {
  const all = foundIn(places);
  const isSaidElsewhere = (one: Found): boolean =>
    all.some((other) => other !== one && other.value.word === one.value.word);
  const found = all.filter((one) => one.value.isSpare !== true || !isSaidElsewhere(one));
  const features = new Map<string, Feature>();
  for (const one of found) {
    const same = new Set(found.filter(({ value }) => value.word === one.value.word).map(({ number }) => number));
    const end = same.size > 1 && one.number !== '' ? `_${one.number}` : '';
    const key = features.has(`${one.value.word}${end}`) ? one.end.replaceAll('/', '_') : `${one.value.word}${end}`;
    if (isKey(key) && !features.has(key)) features.set(key, featureIn(one, key, end));
  }
  const actions = pressesOf(places).flatMap((property) =>
    property.kind === 'enum' ? property.values.map(String) : [],
  );
  return [...features.values(), ...(actions.length === 0 ? [] : [actionFeature(actions)])];
}

function featureIn({ end: place, number, value }: Found, key: string, end: string): Feature {
  const { word, group = null, isState = false, unit, min, max, label = null } = value;
  return featureOf(propertyOf(place, number, key, value), {
    group,
    name: isState ? 'state' : word,
    end,
    label: label === null || end === '' ? label : `${label}${end.replace('_', ' ')}`,
    unit: unit ?? null,
    min: min ?? null,
    max: max ?? null,
    toggle: isState && value.kind === 'boolean' ? 'toggle' : undefined,
    category: value.isDiagnostic === true ? 'diagnostic' : null,
  });
}

function propertyOf(end: string, number: string, key: string, value: Gen1Value): Property {
  const { set, kind = 'number', reads = [], values = [], writes, isUnreported = false } = value;
  const base = {
    path: isUnreported ? [end, value.word] : pathOf(end, value),
    key,
    isReadable: !isUnreported,
    isSettable: set !== undefined,
    ...(set !== undefined && { set: set.map((part) => part.replace('#', number)) }),
  };
  if (kind === 'boolean') return { ...base, kind, on: reads[0], off: reads[1] };
  if (kind === 'enum') return { ...base, kind, values, ...(reads.length > 0 && { reads }), ...(writes && { writes }) };
  return { ...base, kind };
}

/** Of each input that reports presses. */
function pressesOf(places: ReadonlySet<string>): Property[] {
  const ends = [...places].filter((place) => isPress.test(place)).toSorted();
  return ends.map((end) => ({
    path: [end, 'event'],
    key: 'action',
    isReadable: true,
    isSettable: false,
    kind: 'enum',
    values: Object.values(presses).map((press) => `input_${numbered(end).number}_${press}`),
    reads: Object.keys(presses),
  }));
}

/** The value of a property in what was published; undefined: it is not there. */
export function readAt({ path, kind }: Property, end: string, payload: unknown, text: string): unknown {
  const [own, ...at] = path;
  if (own !== end) return undefined;
  const value = at.length === 0 ? text : valueAt(payload, at);
  if (value === undefined || typeof value === 'object') return value;
  if (kind !== 'number') return typeof value === 'string' ? value : JSON.stringify(value);
  const number = numberFrom(value);
  // 999 and -1 stand for what is not there.
  const isNone = (number === -1 && own.endsWith('/pos')) || (number === 999 && own.startsWith('sensor/'));
  if (number === null || isNone) return null;
  const { factor = 1 } = (valuesAt(end) ?? []).find((one) => pathOf(end, one).join() === path.join()) ?? {};
  return factor === 1 ? number : Math.round(number * factor * 1_000) / 1_000;
}
